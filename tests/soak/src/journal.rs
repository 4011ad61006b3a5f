//! Journals: what a member noted, in a file that outlives it.
//!
//! ```text
//! 0        8
//! | id, LE | note |   for each record
//! ```
//!
//! A record is one system call to a file that is only appended to, so that a kill leaves whole records behind:
//! what was noted stays noted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::panic;
use std::path::Path;

use crate::id::CallId;

const RECORD_LEN: usize = 9;

/// An entry about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Note {
    /// A server executed it.
    Executed = b'e',
    /// A client was called back with its id.
    CalledBack = b'c',
    /// A client has the promise that it was executed: a reply, or that of a later call over the connection.
    Promised = b'a',
    /// A client was told that it was surely not executed.
    Denied = b'n',
    /// It ended with an error after which nobody knows.
    Unknown = b'p',
    /// It was answered with something that no server should answer.
    Odd = b'x',
    /// It did not end in time.
    Overdue = b'h',
    /// A member panicked, in whatever thread or task. It is of no call: its id is 0.
    Panicked = b'!',
}

impl Note {
    const ALL: [Self; 8] = [
        Self::Executed,
        Self::CalledBack,
        Self::Promised,
        Self::Denied,
        Self::Unknown,
        Self::Odd,
        Self::Overdue,
        Self::Panicked,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|note| *note as u8 == byte)
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
}

impl Journal {
    /// A new one at this path.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create_new(true).open(path)?;
        Ok(Self { file })
    }

    /// Notes each panic of this process from now on, also those that are caught.
    ///
    /// # Errors
    /// The file cannot be opened a second time.
    pub(crate) fn note_panics(&self) -> io::Result<()> {
        let journal = Self {
            file: self.file.try_clone()?,
        };
        let say = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            journal.note(CallId(0), Note::Panicked);
            say(panic);
        }));
        Ok(())
    }

    /// Notes something of a call. It is safe from a kill of this process when this returns.
    ///
    /// # Panics
    /// If the disk is full: nothing could be said about the run.
    pub(crate) fn note(&self, id: CallId, note: Note) {
        let mut record = [note as u8; RECORD_LEN];
        record[..8].copy_from_slice(&id.0.to_le_bytes());
        (&self.file).write_all(&record).expect("the disk has room");
    }
}

/// Reads a journal; what a kill left of a last record is ignored.
///
/// # Errors
/// The file cannot be read, or holds something else than records.
pub(crate) fn read(path: &Path) -> io::Result<Vec<(CallId, Note)>> {
    let bytes = fs::read(path)?;
    bytes.chunks_exact(RECORD_LEN).map(record).collect()
}

fn record(bytes: &[u8]) -> io::Result<(CallId, Note)> {
    let (id, note) = bytes.split_at(8);
    let id = id.try_into().map_or(0, u64::from_le_bytes);
    let note = Note::from_byte(note[0]);
    let note = note.ok_or_else(|| io::Error::other("expected a journal, got an unknown note"))?;
    Ok((CallId(id), note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_and_half_a_record_is_not() {
        let path = std::env::temp_dir().join(format!("floe-journal-{}", std::process::id()));
        let journal = Journal::create(&path).expect("a new file");
        let notes = [(CallId(1), Note::Executed), (CallId(2), Note::Promised)];
        for (id, note) in notes {
            journal.note(id, note);
        }
        let mut file = File::options().append(true).open(&path).expect("the file");
        file.write_all(b"cut").expect("written");
        assert_eq!(read(&path).expect("a journal"), notes);
        fs::remove_file(&path).expect("it is there");
    }
}
