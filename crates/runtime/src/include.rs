//! Includes generated code into a program.

/// Includes the code that `floe-codegen` generated from a contract in the build script. The name is
/// that of the contract's file without `.ice`.
#[macro_export]
macro_rules! include_contract {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
