//! Names the compiler and the profile, for the first line of a peer.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let rustc = Command::new(var("RUSTC")).arg("--version").output();
    let rustc = rustc.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    println!(
        "cargo:rustc-env=PEER_RUSTC={}",
        rustc.unwrap_or_else(|_| "rustc".into())
    );
    let flags = var("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    let (profile, level) = (var("PROFILE"), var("OPT_LEVEL"));
    println!("cargo:rustc-env=PEER_FLAGS=profile={profile} opt-level={level} rustflags={flags:?}");
}
