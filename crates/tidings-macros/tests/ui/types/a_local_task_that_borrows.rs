//! A local task may outlive the call that starts it: it borrows nothing.

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    rt.block_on(async {
        let word = String::from("here");
        tidings::spawn_local(async {
            println!("{word}");
        });
    });
}
