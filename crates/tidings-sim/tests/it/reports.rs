//! What a failing run says of itself, whatever fails in it and wherever.

use std::future::IntoFuture;

use futures::join;
use tidings::channel::ivar::IVar;
use tidings::sync::Barrier;
use tidings_sim::Sim;

#[test]
fn a_task_that_ends_its_own_wait_is_in_the_picture() {
    let failure = Sim::new(0)
        .check(|| async {
            let cell = IVar::new();
            let (read, ()) = join!(cell.read().into_future(), async {
                cell.fill(1).unwrap();
            });
            let both = Barrier::new(2);
            join!(both.wait().into_future(), both.wait().into_future());
            Err::<(), _>(format!("{read:?}"))
        })
        .unwrap_err();
    let report = failure.to_string();
    let own = report.lines().filter(|line| line.contains('↺'));
    assert_eq!(own.count(), 2, "{report}");
    assert!(failure.chart.to_svg().contains("class=\"release\""));
}
