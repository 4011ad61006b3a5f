//! Takes files out of the memory of the system, so that the next read comes from the disk.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::contender::Failure;

/// Takes all that is in a folder, or a file, out of the page cache. What is not on the disk yet is synced first, since the system keeps it
/// otherwise.
pub(super) fn drop_from_memory(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            drop_from_memory(&entry?.path())?;
        }
        return Ok(());
    }
    let file = File::open(path)?;
    file.sync_all()?;
    // No length: to the end of the file.
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}
