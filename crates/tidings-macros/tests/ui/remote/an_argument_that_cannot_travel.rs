//! An argument that serde knows, and that has no schema.

#[derive(serde::Serialize, serde::Deserialize)]
struct NoSchema(u8);

#[tidings::interface(remote)]
trait Counter {
    async fn take(&mut self, no_schema: NoSchema);
}

fn main() {}
