//! `tidings arena show`: the tables of a saved run.

use crate::arena::exit::{Exit, Stop};
use crate::arena::paths;
use crate::arena::records::record;
use crate::arena::records::table;
use crate::arena::records::whole;
use crate::arena::statistics::best;
use crate::arena::terminal::{self, Style};
use crate::cli::ShowArgs;

pub(crate) fn show(args: &ShowArgs) -> Result<Exit, Stop> {
    let (folder, run) = record::load(&paths::runs()?, args.run.as_deref())?;
    if args.json {
        terminal::print(&whole::json(&run)?)?;
        return Ok(Exit::Ok);
    }
    if args.best {
        terminal::print(&best::markdown(&run))?;
        return Ok(Exit::Ok);
    }
    let style = Style::of_stdout();
    let head = format!(
        "{}\n{}\n\n",
        style.bold(&format!(
            "run {} · {} · {:.0} s{}",
            run.id,
            run.plan.profile,
            run.seconds,
            if run.interrupted {
                " · interrupted"
            } else {
                ""
            }
        )),
        run.env.summary()
    );
    let body = table::report(&run, terminal::width(), style);
    terminal::print(&format!("{head}{body}from {}\n", folder.display()))?;
    Ok(Exit::Ok)
}
