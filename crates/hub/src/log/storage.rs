//! The files of a log: the little that it asks of a file system.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use floe::regular_file;

/// The folder of a log.
///
/// A file's bytes are permanent after [`StoredFile::sync`], and the names of files after [`Storage::sync_names`].
pub(crate) trait Storage: fmt::Debug + Send + Sync {
    /// All files, by name, with their lengths.
    fn list(&self) -> io::Result<Vec<(String, u64)>>;

    /// Creates a file, or empties it.
    fn create(&self, name: &str) -> io::Result<Box<dyn StoredFile>>;

    /// Opens a file.
    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Renames a file, in place of one that has the name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Makes permanent which files there are.
    fn sync_names(&self) -> io::Result<()>;

    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Lets another log use the folder. Nothing is written after this.
    fn release(&self);
}

/// A file of a log.
pub(crate) trait StoredFile: fmt::Debug + Send + Sync {
    /// Reads until the buffer is full or the file ends. Returns how many bytes were read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all bytes. A failure may have written some of them.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the file longer or shorter.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes permanent what has been written.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of the file system. Only one process uses it at a time.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked as long as the folder is in use. Guards itself.
    lock: Mutex<Option<File>>,
}

impl Folder {
    const LOCK_NAME: &str = "lock";

    /// Opens the folder, or creates it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        regular_file::create_folder(path)?;
        let lock = path.join(Self::LOCK_NAME);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = regular_file::open(&lock, &mut options).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("its file \"{}\": {error}", Self::LOCK_NAME),
            )
        })?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another hub uses it: stop that one, or give this one another folder",
            ),
            fs::TryLockError::Error(error) => error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            lock: Mutex::new(Some(lock)),
        })
    }
}

/// Returns true if a file with this name is part of a log, and not only of its use now.
pub(crate) fn is_lasting(name: &str) -> bool {
    name != Folder::LOCK_NAME && !name.ends_with(UNFINISHED_SUFFIX)
}

/// The end of the name of a file that is being written, and becomes another.
pub(crate) const UNFINISHED_SUFFIX: &str = ".new";

impl Storage for Folder {
    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            files.push((name, entry.metadata()?.len()));
        }
        Ok(files)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        Ok(Box::new(regular_file::open(
            &self.path(name),
            &mut options,
        )?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        Ok(Box::new(regular_file::open(
            &self.path(name),
            &mut options,
        )?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    #[cfg(unix)]
    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Windows keeps the names of files in its journal, and has no call for it.
    #[cfg(not(unix))]
    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn release(&self) {
        *self.lock.lock().expect("no owner of the lock panics") = None;
    }
}

impl StoredFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut len = 0;
        while len < buffer.len() {
            match read_some(self, &mut buffer[len..], offset + len as u64) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut len = 0;
        while len < bytes.len() {
            match write_some(self, &bytes[len..], offset + len as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => len += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(windows)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}
