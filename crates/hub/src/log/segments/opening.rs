//! Puts a log together from its files.

use std::io;

use super::super::storage::{Storage, StoredFile, UNFINISHED_SUFFIX};
use super::super::{Damage, LogError};
use crate::core::log::{
    Catalog, Division, Examined, FoundDamage, Header, Recovery, Scan, ScanStep, Trailer,
    segment_first, segment_name,
};
use crate::store::is_full;

/// A log that has been opened.
#[derive(Debug)]
pub(super) struct OpenedLog {
    pub(super) catalog: Catalog,
    /// True if the last segment is still being written.
    pub(super) is_last_open: bool,
    pub(super) damage: Vec<Damage>,
}

/// Opens a log. It reads the beginning and the end of each file, and all of the last one.
pub(super) fn open(storage: &dyn Storage, division: Division) -> Result<OpenedLog, LogError> {
    let listed = storage
        .list()
        .map_err(|error| LogError::new("list", storage.path(""), error))?;
    for (name, _) in listed
        .iter()
        .filter(|(name, _)| name.ends_with(UNFINISHED_SUFFIX))
    {
        storage
            .remove(name)
            .map_err(|error| LogError::new("remove", storage.path(name), error))?;
    }
    // A file that an earlier process created or removed, and that is not here or still there, stays so.
    storage
        .sync_names()
        .map_err(|error| LogError::new("sync", storage.path(""), error))?;
    let named = |(name, len): &(String, u64)| Some((segment_first(name)?, *len));
    let mut files: Vec<_> = listed.iter().filter_map(named).collect();
    files.sort_unstable();
    let mut recovery = Recovery::new();
    for (at, (first, len)) in files.iter().enumerate() {
        let is_last = at + 1 == files.len();
        let name = segment_name(*first);
        open_segment(storage, &mut recovery, *first, *len, is_last, division)
            .map_err(|error| LogError::new("open", storage.path(&name), error))?;
    }
    let (catalog, is_last_open, found) = recovery.finish();
    let damage = found
        .into_iter()
        .map(|found| damage(storage, found))
        .collect();
    Ok(OpenedLog {
        catalog,
        is_last_open,
        damage,
    })
}

/// A file whose creation was interrupted is no longer than that: it has no records yet.
const NEW_LEN_MAX: u64 = 64 << 20;

fn open_segment(
    storage: &dyn Storage,
    recovery: &mut Recovery,
    first: u64,
    len: u64,
    is_last: bool,
    division: Division,
) -> io::Result<()> {
    let name = segment_name(first);
    let file = storage.open(&name)?;
    let mut head = [0; Header::LEN];
    let head_len = file.read_at(&mut head, 0)?;
    let mut tail = [0; Trailer::LEN];
    let tail_len = file.read_at(&mut tail, len.saturating_sub(Trailer::LEN as u64))?;
    match recovery.examine(first, len, &head[..head_len], &tail[..tail_len], is_last) {
        Examined::Finished => {}
        Examined::Scan(mut scan) => {
            scan_all(&mut scan, &*file, division)?;
            if !is_last {
                recovery.take_scanned(*scan);
                return Ok(());
            }
            if let Some(tail) = recovery.take_last(*scan) {
                file.set_len(tail.end)?;
                match write_again(&*file, tail.unsure_from, tail.end) {
                    // Its bytes are there, and it is only less sure that they outlast a loss of power. The others can be read.
                    Err(error) if is_full(&error) => tracing::warn!(
                        "the disk is full: cannot write the end of \"{}\" again before syncing it",
                        storage.path(&name).display()
                    ),
                    written => written?,
                }
                // After the end of a process, some of it may still be on its way to the disk.
                file.sync()?;
            }
        }
        Examined::Unreadable if is_last => {
            // A power failure can end the creation of a file. Records come only after its header is synced.
            let may_be_new =
                len <= Header::LEN as u64 || len <= NEW_LEN_MAX && is_zero(&*file, len)?;
            if may_be_new {
                recovery.take_interrupted(first);
                storage.remove(&name)?;
            } else {
                recovery.take_unreadable(first);
                storage.rename(&name, &format!("{name}.damaged"))?;
            }
            storage.sync_names()?;
        }
        Examined::Unreadable => recovery.take_unreadable(first),
    }
    Ok(())
}

fn scan_all(scan: &mut Scan, file: &dyn StoredFile, division: Division) -> io::Result<()> {
    while scan.run(&division) == ScanStep::Wanted {
        let (room, offset) = scan.cursor().room(READ_LEN);
        let room_len = room.len();
        let len = file.read_at(room, offset)?;
        scan.cursor().filled(len, room_len);
    }
    Ok(())
}

/// Writes a part of a file again, as it is.
fn write_again(file: &dyn StoredFile, mut offset: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; READ_LEN];
    while offset < end {
        let len = (end - offset).min(READ_LEN as u64) as usize;
        let read = file.read_at(&mut buffer[..len], offset)?;
        if read == 0 {
            break;
        }
        file.write_at(&buffer[..read], offset)?;
        offset += read as u64;
    }
    Ok(())
}

fn is_zero(file: &dyn StoredFile, len: u64) -> io::Result<bool> {
    let mut buffer = vec![0; READ_LEN];
    let mut offset = 0;
    while offset < len {
        let read = file.read_at(&mut buffer, offset)?;
        if read == 0 {
            break;
        }
        if buffer[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += read as u64;
    }
    Ok(true)
}

/// How many bytes are read at a time.
const READ_LEN: usize = 1 << 20;

fn damage(storage: &dyn Storage, found: FoundDamage) -> Damage {
    Damage {
        path: storage.path(&segment_name(found.segment)),
        sequences: found.sequences,
        what: found.what,
    }
}
