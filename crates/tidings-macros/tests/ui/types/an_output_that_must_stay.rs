//! The handle of a local task whose output must stay on its thread stays there, too.

use std::rc::Rc;

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    rt.block_on(async {
        let task = tidings::spawn_local(async { Rc::new(1) });
        std::thread::spawn(move || drop(task));
    });
}
