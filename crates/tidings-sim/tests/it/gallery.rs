//! The examples find what they show.

use tidings_sim::{Failure, Kind};

/// Includes an example as a module; its `main` is not called.
macro_rules! example {
    ($name:ident, $path:literal, $kind:ident, $words:literal) => {
        #[path = $path]
        #[allow(
            dead_code,
            unreachable_pub,
            reason = "an example is a program of its own"
        )]
        mod $name;

        #[test]
        fn $name() {
            found(&$name::find(), Kind::$kind, $words);
        }
    };
}

fn found(failure: &Failure, kind: Kind, words: &str) {
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.message.contains(words), "{failure}");
    assert!(!failure.chart.is_empty());
    assert!(failure.trace.len() <= failure.found.len());
    let report = failure.to_string();
    assert!(report.contains("TIDINGS_SEED="), "{report}");
}

example!(
    a_lost_wake_up,
    "../../examples/lost_wakeup.rs",
    Deadlock,
    "nothing can run"
);
example!(
    dining_philosophers,
    "../../examples/dining_philosophers.rs",
    Deadlock,
    "nothing can run"
);
example!(
    a_cancelled_receive,
    "../../examples/cancelled_receive.rs",
    Panic,
    "a message is lost"
);
example!(
    a_double_delivery,
    "../../examples/double_delivery.rs",
    Panic,
    "paid so many times"
);
example!(
    a_split_registry,
    "../../examples/split_registry.rs",
    Panic,
    "2 own the name"
);
