//! A contract's facts about an operation.

use floe_wire::message::OperationMode;

/// The facts about an operation that a generated proxy knows.
#[derive(Debug, Clone, Copy)]
pub struct OperationInfo {
    /// Its name.
    pub name: &'static str,
    /// The mode, which says whether the operation may be repeated.
    pub mode: OperationMode,
    /// True if it returns data or declares exceptions: then only a twoway proxy can invoke it.
    pub returns_data: bool,
}

impl OperationInfo {
    /// Describes an operation with this name; `returns_data` says whether it returns data or declares exceptions.
    pub const fn new(name: &'static str, mode: OperationMode, returns_data: bool) -> Self {
        Self {
            name,
            mode,
            returns_data,
        }
    }
}
