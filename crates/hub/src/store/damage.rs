//! Reads a file that may be damaged. The library refuses most damaged files, and panics for the rest, such as a
//! truncated file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::StoreError;

/// Explains a file that the library cannot read, and what to do.
pub(super) const DAMAGED: &str = " (it is damaged, or no store of a hub: put a copy of it back, or move it away to begin without topics)";

/// Reads the file, and turns a panic into an error.
pub(super) fn guarded<T>(
    file: &Path,
    read: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    READING.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    READING.set(false);
    result.unwrap_or_else(|_panic| {
        let shown = file.display();
        Err(StoreError::new(format!("cannot read \"{shown}\"{DAMAGED}")))
    })
}

thread_local! {
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is reading the file of a store. A panic is then caught and becomes an error with a better
/// explanation, so a panic hook can stay silent.
pub fn is_reading_store() -> bool {
    READING.get()
}
