//! A message of the user's own that crosses links needs serde and a schema, and so do its fields.

struct Plain;

#[derive(tidings::Schema)]
struct Field(Plain);

fn main() {
    fn crosses<T: tidings::remote::Remote>() {}
    crosses::<Field>();
}
