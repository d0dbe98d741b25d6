//! `tidings arena run`: from the arguments to a plan, with the peers built that need no download.

use crate::arena::cells::filter::Filters;
use crate::arena::cells::fit;
use crate::arena::cells::plan::{self, Plan, Request};
use crate::arena::cells::size;
use crate::arena::cells::size::Profile;
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::ready;
use crate::arena::sampling::options;
use crate::arena::sampling::resume;
use crate::arena::sampling::session::Session;
use crate::arena::terminal::{self, Style};
use crate::arena::verbs::baseline;
use crate::arena::verbs::compare;
use crate::cli::RunArgs;

/// Runs the command; the exit code tells how the cells went.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Stop> {
    let style = Style::of_stderr();
    let earlier = match &args.resume {
        Some(name) => Some(resume::open(name, args)?),
        None => None,
    };
    let begun = earlier.as_ref().map(|earlier| earlier.args.clone());
    let args = begun.as_ref().unwrap_or(args);
    let options = options::options(args)?;
    let baseline = match &args.baseline {
        Some(name) => Some(baseline::load(name)?),
        None => None,
    };
    let mut candidates = ready::look(args.peers.peers.as_deref())?;
    let filters = {
        let systems = plan::systems(&candidates);
        for system in args.require.iter().chain([&args.vs]) {
            if !systems.contains(&system.as_str()) {
                return Err(Stop::usage(format!(
                    "unknown system {system:?}; there are {}",
                    systems.join(", ")
                )));
            }
        }
        Filters::parse(&args.filter, &systems)?
    };
    let overrides = args
        .sizes
        .iter()
        .map(|text| size::parse_override(text))
        .collect::<Result<Vec<_>, _>>()?;
    let request = Request {
        profile: args.profile,
        filters: &filters,
        threads: &options.threads,
        overrides: &overrides,
        originals: args.include.is_some(),
        required: &args.require,
        mem_cap: options.limits.mem_cap,
    };
    let tell = |text: &str| {
        if !args.quiet {
            terminal::say(text);
        }
    };
    let interrupt = Interrupt::install()?;
    let mut plan = ready::plan(&mut candidates, &request, &interrupt, tell)?;
    if interrupt.is_asked() {
        return Ok(Exit::Interrupted);
    }
    if let (Profile::Quick, Some(budget)) = (args.profile, options.budget) {
        fit::fit(&mut plan, &candidates, &request, &options.settings, budget);
    }

    let env = Environment::capture();
    if args.strict_env && !env.warnings.is_empty() {
        return Err(Stop {
            exit: Exit::Unfit,
            message: format!("unfit for measuring: {}", env.warnings.join("; ")),
        });
    }
    if let Some(earlier) = &earlier {
        earlier.check(&env, &options)?;
    }
    if let Some(baseline) = &baseline {
        compare::comparable(&baseline.run.env, &env)?;
    }
    if plan.groups.is_empty() {
        return Err(Stop::nothing(why_nothing(&plan)));
    }
    let (exit, saved) =
        Session::new(args, &options, &candidates, interrupt, style).perform(&plan, env, earlier)?;
    if let Some(baseline) = baseline {
        compare::after_run(&baseline, &saved, args.json, style)?;
    }
    Ok(exit)
}

fn why_nothing(plan: &Plan) -> String {
    let mut text = "nothing can run:".to_owned();
    if plan.absent.is_empty() {
        text += " no system has such a cell (see `tidings arena list`)";
    }
    for absent in &plan.absent {
        text += &format!("\n  {}@{}: {}", absent.id, absent.system, absent.reason);
        if let Some(fix) = &absent.fix {
            text += &format!("; fix: {fix}");
        }
    }
    text
}
