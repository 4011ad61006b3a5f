//! A file system for tests that loses what was not synced, tears writes, and runs out of space.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use super::super::storage::{Storage, StoredFile};
use crate::random::Random;

/// A file system. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct FaultyStorage {
    disk: Arc<Mutex<FaultyDisk>>,
}

#[derive(Debug)]
struct FaultyDisk {
    random: Random,
    /// The files by name, as a process sees them.
    names: BTreeMap<String, usize>,
    /// The files by name that are left at least after a power failure.
    durable_names: BTreeMap<String, usize>,
    /// Changes of names that are not permanent yet.
    name_changes: Vec<(String, Option<usize>)>,
    files: Vec<FileContents>,
    /// How many bytes may still be written.
    room: u64,
    /// One in this many calls fails; 0 for none.
    fails_one_in: u64,
    /// How many bytes have been read.
    read_len: u64,
}

#[derive(Debug, Default)]
struct FileContents {
    /// The bytes that a process reads.
    bytes: Vec<u8>,
    /// The bytes on the disk.
    durable: Vec<u8>,
    /// The changes on their way to the disk.
    changes: Vec<FileChange>,
}

#[derive(Debug, Clone)]
enum FileChange {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl FileChange {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::SetLen(len) => to.resize(*len, 0),
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[*offset..end].copy_from_slice(bytes);
            }
        }
    }

    /// Applies what a power failure lets through: all, nothing, or some pieces, perhaps changed.
    fn apply_torn(&self, to: &mut Vec<u8>, random: &mut Random) {
        let Self::Write { offset, bytes } = self else {
            if random.one_in(2) {
                self.apply(to);
            }
            return;
        };
        match random.below(4) {
            0 => {}
            1 => self.apply(to),
            2 => {
                let len = random.below(bytes.len() as u64 + 1) as usize;
                let mut bytes = bytes[..len].to_vec();
                if len > 0 && random.one_in(2) {
                    let at = random.below(len as u64) as usize;
                    bytes[at] ^= 1 << random.below(8);
                }
                let offset = *offset;
                Self::Write { offset, bytes }.apply(to);
            }
            _ => {
                // The pieces that a disk writes as a whole: some of them may be missing.
                let piece_len = 1 << random.below(8);
                for (at, piece) in bytes.chunks(piece_len).enumerate() {
                    if random.one_in(2) {
                        let piece = Self::Write {
                            offset: offset + at * piece_len,
                            bytes: piece.to_vec(),
                        };
                        piece.apply(to);
                    }
                }
            }
        }
    }
}

impl FaultyStorage {
    pub(super) fn new(seed: u64) -> Self {
        let disk = FaultyDisk {
            random: Random::new(seed),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            name_changes: Vec::new(),
            files: Vec::new(),
            room: u64::MAX,
            fails_one_in: 0,
            read_len: 0,
        };
        Self {
            disk: Arc::new(Mutex::new(disk)),
        }
    }

    fn disk(&self) -> MutexGuard<'_, FaultyDisk> {
        self.disk.lock().expect("no owner of the lock panics")
    }

    /// How many bytes have been read since the last call.
    pub(super) fn take_read_len(&self) -> u64 {
        std::mem::take(&mut self.disk().read_len)
    }

    /// From now on one in this many calls fails; 0 for none.
    pub(super) fn set_failing(&self, one_in: u64) {
        self.disk().fails_one_in = one_in;
    }

    /// From now on this many bytes may be written.
    pub(super) fn set_room(&self, room: u64) {
        self.disk().room = room;
    }

    /// The power fails: what was not synced may be lost, in part, and be changed.
    pub(super) fn fail_power(&self) {
        let disk = &mut *self.disk();
        for (name, file) in disk.name_changes.drain(..) {
            if disk.random.one_in(2) {
                set_name(&mut disk.durable_names, name, file);
            }
        }
        disk.names = disk.durable_names.clone();
        for file in &mut disk.files {
            for change in std::mem::take(&mut file.changes) {
                change.apply_torn(&mut file.durable, &mut disk.random);
            }
            file.bytes = file.durable.clone();
        }
    }

    /// Changes the bytes of a file, as a failing disk does.
    pub(super) fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let disk = &mut *self.disk();
        let file = &mut disk.files[disk.names[name]];
        change(&mut file.bytes);
        file.durable = file.bytes.clone();
        file.changes.clear();
    }
}

fn set_name(names: &mut BTreeMap<String, usize>, name: String, file: Option<usize>) {
    match file {
        Some(file) => names.insert(name, file),
        None => names.remove(&name),
    };
}

impl FaultyDisk {
    fn may_fail(&mut self) -> io::Result<()> {
        match self.fails_one_in > 0 && self.random.one_in(self.fails_one_in) {
            true => Err(io::Error::other("the disk failed")),
            false => Ok(()),
        }
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change_name(&mut self, name: &str, file: Option<usize>) {
        set_name(&mut self.names, name.to_owned(), file);
        self.name_changes.push((name.to_owned(), file));
    }

    fn change(&mut self, file: usize, change: FileChange) {
        let file = &mut self.files[file];
        change.apply(&mut file.bytes);
        file.changes.push(change);
    }
}

impl Storage for FaultyStorage {
    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let disk = self.disk();
        let len = |file: &usize| disk.files[*file].bytes.len() as u64;
        Ok(disk
            .names
            .iter()
            .map(|(name, file)| (name.clone(), len(file)))
            .collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        let mut disk = self.disk();
        disk.may_fail()?;
        let file = match disk.find(name) {
            Ok(file) => {
                disk.change(file, FileChange::SetLen(0));
                file
            }
            Err(_) => {
                disk.files.push(FileContents::default());
                let file = disk.files.len() - 1;
                disk.change_name(name, Some(file));
                file
            }
        };
        let storage = self.clone();
        Ok(Box::new(FaultyFile { storage, file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        let file = self.disk().find(name)?;
        let storage = self.clone();
        Ok(Box::new(FaultyFile { storage, file }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.may_fail()?;
        disk.find(name)?;
        disk.change_name(name, None);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.may_fail()?;
        let file = disk.find(from)?;
        // A rename happens as a whole or not at all; two changes here are stricter.
        disk.change_name(to, Some(file));
        disk.change_name(from, None);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.may_fail()?;
        disk.name_changes.clear();
        disk.durable_names = disk.names.clone();
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("disk").join(name)
    }

    fn release(&self) {}
}

#[derive(Debug)]
struct FaultyFile {
    storage: FaultyStorage,
    file: usize,
}

impl StoredFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let disk = &mut *self.storage.disk();
        let bytes = &disk.files[self.file].bytes;
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        disk.read_len += len as u64;
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let disk = &mut *self.storage.disk();
        let failed = disk.may_fail();
        // What replaces other bytes needs no room.
        let file_len = disk.files[self.file].bytes.len() as u64;
        let held = file_len.saturating_sub(offset).min(bytes.len() as u64);
        let fitting = match failed {
            Ok(()) => disk.room.saturating_add(held).min(bytes.len() as u64),
            Err(_) => disk.random.below(bytes.len() as u64 + 1),
        };
        disk.room -= fitting.saturating_sub(held).min(disk.room);
        let write = FileChange::Write {
            offset: offset as usize,
            bytes: bytes[..fitting as usize].to_vec(),
        };
        disk.change(self.file, write);
        failed?;
        match fitting < bytes.len() as u64 {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.storage.disk();
        disk.may_fail()?;
        disk.change(self.file, FileChange::SetLen(len as usize));
        Ok(())
    }

    /// A sync that fails has written some of the changes, and forgets the others: a later one does not try them again.
    fn sync(&self) -> io::Result<()> {
        let disk = &mut *self.storage.disk();
        let failed = disk.may_fail();
        let file = &mut disk.files[self.file];
        for change in std::mem::take(&mut file.changes) {
            match failed {
                Ok(()) => change.apply(&mut file.durable),
                Err(_) => change.apply_torn(&mut file.durable, &mut disk.random),
            }
        }
        failed
    }
}
