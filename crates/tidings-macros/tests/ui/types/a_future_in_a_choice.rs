//! A choice takes events; what the compiler says of a future is of the user's line, and says what to do.

use std::time::Duration;
use tidings::{Event, after, choose, select};

async fn ask() -> u32 {
    7
}

async fn first() -> u32 {
    select! {
        n = ask() => n,
        () = after(Duration::from_secs(1)) => 0,
    }
}

async fn last() -> u32 {
    select! {
        () = after(Duration::from_secs(1)) => 0,
        n = ask() => n,
    }
}

async fn or() -> u32 {
    tidings::always(1).or(ask()).await
}

async fn any() -> u32 {
    choose([ask()]).await
}

fn main() {
    let _ = (first(), last(), or(), any());
}
