//! A set of local tasks stays where it is, if their outputs must.

use std::rc::Rc;

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    rt.block_on(async {
        let mut set = tidings::JoinSet::new();
        set.spawn_local(async { Rc::new(1) });
        tidings::spawn(async move { drop(set.join_next().await) });
    });
}
