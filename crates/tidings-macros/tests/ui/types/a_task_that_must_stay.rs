//! A task may move between threads at every await: what it holds there must be `Send`.

use std::rc::Rc;

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    rt.spawn(async {
        let here = Rc::new(1);
        tidings::yield_now().await;
        drop(here);
    });
}
