//! Names the compiler and the profile for the peer's first line, and generates the gRPC service.

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

    // The messages are written in Rust (`tonic_link.rs`), so that no protoc is needed.
    let echo = tonic_build::manual::Method::builder()
        .name("echo")
        .route_name("Echo")
        .input_type("crate::tonic_link::Parcel")
        .output_type("crate::tonic_link::Parcel")
        .codec_path("tonic_prost::ProstCodec")
        .build();
    let service = tonic_build::manual::Service::builder()
        .name("Echo")
        .package("arena")
        .method(echo)
        .build();
    tonic_build::manual::Builder::new().compile(&[service]);
}
