//! Reading a file that may be damaged: the library refuses most of what is, and panics at the rest, such as a file that was
//! cut off.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::StoreError;

/// What a file may be that the library cannot make sense of, and what to do.
pub(super) const DAMAGED: &str = " (it is damaged, or no store of a hub: put a copy of it back, or move it away to begin without topics)";

/// Reads the file; a panic is an error.
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

/// Whether this thread reads the file of a store. A panic is caught then and becomes an error that says more, so that
/// a panic hook, which is told of it all the same, need not speak.
pub fn is_reading_store() -> bool {
    READING.get()
}
