//! Children of a scope are `'static`: dropping the scope's future cannot wait for them.

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    rt.block_on(async {
        let word = String::from("borrowed");
        tidings::scope(|s| async {
            s.spawn(async { println!("{word}") });
        })
        .await;
    });
}
