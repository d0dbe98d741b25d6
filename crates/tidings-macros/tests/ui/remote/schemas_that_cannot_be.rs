//! What `Schema` cannot describe: what serde's attributes change, what borrows, and unions.

#[derive(serde::Serialize, tidings::Schema)]
struct Renamed {
    #[serde(rename = "other")]
    name: String,
}

#[derive(serde::Serialize, tidings::Schema)]
#[serde(untagged)]
enum Untagged {
    A(u8),
}

#[derive(tidings::Schema)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(tidings::Schema)]
union Both {
    a: u8,
    b: i8,
}

#[derive(tidings::Schema)]
#[schema(path = tidings)]
struct Misspelt;

fn main() {}
