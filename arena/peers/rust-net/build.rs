//! Generates the gRPC service.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
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
