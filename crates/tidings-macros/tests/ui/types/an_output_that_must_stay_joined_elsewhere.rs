//! Nor can a task that moves wait for it, alone or in a choice.

use std::rc::Rc;

use tidings::{Event, after};

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    rt.block_on(async {
        let mut task = tidings::spawn_local(async { Rc::new(1) });
        tidings::spawn(async move {
            let late = after(std::time::Duration::ZERO);
            task.join().map(drop).or(late).await;
        });
    });
}
