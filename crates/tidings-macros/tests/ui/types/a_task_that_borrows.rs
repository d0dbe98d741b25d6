//! A task may outlive the function that spawned it.

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    let word = String::from("borrowed");
    rt.spawn(async { println!("{word}") });
}
