//! What a contract says of an operation.

use floe_wire::message::OperationMode;

/// What a generated proxy knows of an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationInfo {
    /// Its name.
    pub name: &'static str,
    /// Whether it may be repeated.
    pub mode: OperationMode,
    /// Whether it returns something or declares exceptions: then only a twoway proxy can invoke it.
    pub returns_data: bool,
}
