//! Compiles the contract of the contenders that speak gRPC.

fn main() -> std::io::Result<()> {
    tonic_prost_build::configure()
        // A payload is a slice of what was received.
        .bytes(".")
        .compile_protos(&["calls.proto"], &["."])
}
