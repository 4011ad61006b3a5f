//! Reads a file that may be damaged. The library refuses most damaged files, and panics for the rest, such as a
//! truncated file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Advice about a file that was damaged while the hub ran.
pub(super) const DAMAGED: &str =
    " (it is damaged: start the hub again, which restores the file from its backup)";

/// Reads a file; `None` after a panic.
pub(super) fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    let outer = READING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    READING.set(outer);
    result.ok()
}

thread_local! {
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread is reading the file of a store. A panic is then caught and becomes an error with a
/// better explanation, so a panic hook can stay silent.
pub fn is_reading_store() -> bool {
    READING.get()
}
