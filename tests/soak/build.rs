//! Turns the contracts of the soak into Rust.

fn main() {
    let build = floe_codegen::Build::new().file("ice/Soak.ice").blocking();
    build.compile().unwrap_or_else(|error| error.exit());
    let build = floe_codegen::Build::new().file("ice/Feed.ice");
    build.compile().unwrap_or_else(|error| error.exit());
}
