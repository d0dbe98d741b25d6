//! Panics inside of a simulation are caught and told in its report, instead of being printed for
//! each of the thousand runs that lead to it.

use std::any::Any;
use std::cell::RefCell;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use crate::failure::{Kind, Trouble};

/// A panic of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Panicked {
    pub(crate) message: String,
    /// File, line and column.
    pub(crate) at: String,
}

/// How std says that it ends the process: in a destructor while another panic unwinds, and where nothing may
/// unwind. (Whether a panic can unwind is not told in stable Rust.)
const ENDS: &[&str] = &[
    "panic in a destructor",
    "panic in a function that cannot unwind",
];

thread_local! {
    static CAUGHT: RefCell<Option<Vec<Panicked>>> = const { RefCell::new(None) };
}

/// Runs `f`; gives the panics of this thread meanwhile, which are not printed, but for one that leaves `f`.
pub(crate) fn catching<R>(f: impl FnOnce() -> R) -> (R, Vec<Panicked>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !note(info) {
                before(info);
            }
        }));
    });
    let outer = CAUGHT.replace(Some(Vec::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    let caught = CAUGHT.replace(outer).unwrap_or_default();
    match (result, caught.last()) {
        (Ok(result), _) => (result, caught),
        (Err(_), Some(Panicked { message, at })) => panic!("{message}, at {at}"),
        (Err(payload), None) => panic::resume_unwind(payload),
    }
}

/// Runs what is the program's, outside of its tasks; a panic of it is what went wrong.
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Trouble> {
    panic::catch_unwind(AssertUnwindSafe(f)).map_err(|payload| trouble(&*payload))
}

/// What went wrong, of a panic that was just caught.
pub(crate) fn trouble(payload: &(dyn Any + Send)) -> Trouble {
    let last = CAUGHT.with_borrow(|caught| caught.as_ref()?.last().cloned());
    Trouble::new(Kind::Panic, message(payload)).at(last.map(|last| last.at))
}

/// The line of the last panic with this message.
pub(crate) fn line_of(message: &str) -> Option<String> {
    CAUGHT.with_borrow(|caught| {
        let mut caught = caught.as_ref()?.iter().rev();
        let found = caught.find(|panic| panic.message == message)?;
        Some(found.at.clone())
    })
}

/// Is this panic to be told in the report? If the process ends with it, there is none: what was to be in
/// it is printed.
fn note(info: &PanicHookInfo<'_>) -> bool {
    if ENDS
        .iter()
        .any(|text| message(info.payload()).starts_with(text))
    {
        let caught = CAUGHT.try_with(|caught| caught.try_borrow_mut().ok()?.take());
        for Panicked { message, at } in caught.ok().flatten().into_iter().flatten() {
            // Not as `eprintln` does, which a test's end would keep.
            let _ = writeln!(io::stderr(), "panicked at {at}:\n{message}");
        }
        return false;
    }
    let noted = CAUGHT.try_with(|caught| {
        let Ok(mut caught) = caught.try_borrow_mut() else {
            return false;
        };
        let Some(caught) = caught.as_mut() else {
            return false;
        };
        caught.push(Panicked {
            message: message(info.payload()),
            at: info.location().map_or(String::new(), ToString::to_string),
        });
        true
    });
    noted.unwrap_or(false)
}

/// What a panic carried, if it was text.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without text").to_owned()
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::process::Command;

    use super::catching;

    /// Panics, and again in a drop: the process ends.
    struct Twice;

    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("the second");
        }
    }

    const CHILD: &str = "TIDINGS_TEST_TWICE";

    #[test]
    fn panics_that_end_the_process_are_printed() {
        let is_child = std::env::var_os(CHILD).is_some();
        catching(|| {
            let _twice = is_child.then(|| Twice);
            assert!(!is_child, "the first");
        });
        let test = "panics::tests::panics_that_end_the_process_are_printed";
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(!child.status.success());
        for told in ["the first", "the second", "panics.rs"] {
            assert!(said.contains(told), "{told} is not in {said}");
        }
    }

    #[test]
    fn a_panic_that_leaves_is_told_outside_and_those_after_it_are_not_kept_quiet() {
        let ((), outer) = catching(|| {
            for _ in 0..2 {
                let left = catch_unwind(|| catching(|| panic!("inside")));
                assert!(left.is_err());
            }
            assert!(catch_unwind(|| panic!("beside")).is_err());
        });
        let told: Vec<_> = outer
            .iter()
            .map(|panic| panic.message.split(',').next().unwrap())
            .collect();
        assert_eq!(told, ["inside", "inside", "beside"]);
    }
}
