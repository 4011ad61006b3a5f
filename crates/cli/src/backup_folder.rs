//! A backup on disk: the files of a hub, and a manifest that lists them.
//!
//! ```text
//! FOLDER/backup.json    the manifest, written last: without it the backup is not complete
//! FOLDER/data/          the files of the hub's data directory
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

use floe::regular_file;
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};

/// The file that says what a backup has.
const MANIFEST: &str = "backup.json";
/// The manifest until it is complete.
const NEW_MANIFEST: &str = "backup.json.new";
/// The folder of the files.
const DATA: &str = "data";
/// The layout of a backup.
const FORMAT: u64 = 1;
/// Bytes of a manifest. A file takes about 100.
const MANIFEST_LEN_MAX: usize = 256 << 20;
/// Bytes of the name of a file. Those of a hub have at most three parts of 255 bytes.
const NAME_LEN_MAX: usize = 1024;
/// Zeros that a file may have between two parts. Files of positions have 320 KiB, and a log has none.
const GAP_MAX: u64 = 1 << 30;
/// Bytes that are copied at a time.
const BLOCK_LEN: usize = 64 * 1024;

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackedUpFile {
    /// Its name, relative to the data directory, with `/` between folders.
    pub(crate) name: String,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// The CRC-32C of its bytes.
    pub(crate) check: u32,
}

/// A backup that is being written.
#[derive(Debug)]
pub(crate) struct NewBackup {
    folder: PathBuf,
    /// True if the folder did not exist before.
    is_new_folder: bool,
    files: Vec<BackedUpFile>,
    open: Option<NewFile>,
}

/// The file that is being written.
#[derive(Debug)]
struct NewFile {
    file: File,
    name: String,
    len: u64,
    check: u32,
}

impl NewBackup {
    /// Begins a backup in a folder that does not exist or is empty.
    ///
    /// # Errors
    /// The folder has something in it, or the system refuses.
    pub(crate) fn begin(folder: &Path) -> Result<Self, Failure> {
        check_empty(folder, "a backup needs a folder of its own: name another")?;
        let is_new_folder = !folder.exists();
        create_folder(&folder.join(DATA))?;
        Ok(Self {
            folder: folder.to_owned(),
            is_new_folder,
            files: Vec::new(),
            open: None,
        })
    }

    /// Removes what was written, to begin anew.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn clear(&mut self) -> Result<(), Failure> {
        self.open = None;
        self.files.clear();
        let data = self.folder.join(DATA);
        fs::remove_dir_all(&data).map_err(|error| failed("remove", &data, &error))?;
        create_folder(&data)
    }

    /// Removes what was written, so that the folder can be named again.
    pub(crate) fn abandon(self) {
        // What cannot be removed is named by the next attempt, and is no complete backup.
        let _ = fs::remove_file(self.folder.join(NEW_MANIFEST));
        let _ = fs::remove_dir_all(self.folder.join(DATA));
        if self.is_new_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Takes some bytes of a file; none are its end. What was left out is zero.
    ///
    /// # Errors
    /// The name leads out of the folder, the parts are not in order, or the system refuses.
    pub(crate) fn add(&mut self, name: &str, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        if self.open.as_ref().is_none_or(|open| open.name != name) {
            if let Some(open) = &self.open {
                return Err(disordered(format_args!(
                    "the rest of {:?}, got {name:?}",
                    open.name
                )));
            }
            self.open = Some(NewFile::create(&self.folder.join(DATA), name)?);
        }
        let open = self.open.as_mut().expect("it was just opened");
        if offset < open.len {
            return Err(disordered(format_args!(
                "bytes of {name:?} behind {}, got {offset}",
                open.len
            )));
        }
        if offset - open.len > GAP_MAX {
            return Err(disordered(format_args!(
                "at most {GAP_MAX} zeros in {name:?} behind {}, got {}",
                open.len,
                offset - open.len
            )));
        }
        let path = path_of(&self.folder.join(DATA), name)?;
        let written = open.write(offset, bytes);
        written.map_err(|error| failed("write", &path, &error))?;
        if bytes.is_empty() {
            let open = self.open.take().expect("it is open");
            self.files.push(BackedUpFile {
                name: open.name,
                len: open.len,
                check: open.check,
            });
        }
        Ok(())
    }

    /// The files that are complete, and their bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        (self.files.len(), self.files.iter().map(|it| it.len).sum())
    }

    /// Writes the manifest, which makes the backup complete. All of it is on disk when this returns.
    ///
    /// # Errors
    /// A file is not complete, or the system refuses.
    pub(crate) fn finish(&self, about: &Json) -> Result<(), Failure> {
        if let Some(open) = &self.open {
            return Err(disordered(format_args!("the rest of {:?}", open.name)));
        }
        sync_folders(&self.folder.join(DATA), &self.files)?;
        let files = self.files.iter().map(|file| {
            json!({
                "file": file.name,
                "bytes": file.len,
                "crc32c": format!("{:08x}", file.check),
            })
        });
        let manifest = json!({
            "format": FORMAT,
            "about": about,
            "files": files.collect::<Vec<_>>(),
        });
        let path = self.folder.join(MANIFEST);
        let new = self.folder.join(NEW_MANIFEST);
        let write = || {
            let mut file = create_file(&new)?;
            file.write_all(format!("{manifest:#}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            sync_folder(&self.folder)
        };
        write().map_err(|error| failed("write", &path, &error))
    }
}

impl NewFile {
    fn create(data: &Path, name: &str) -> Result<Self, Failure> {
        let path = path_of(data, name)?;
        if let Some(folder) = path.parent() {
            create_folder(folder)?;
        }
        let file = create_file(&path).map_err(|error| failed("create", &path, &error))?;
        Ok(Self {
            file,
            name: name.to_owned(),
            len: 0,
            check: 0,
        })
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut left_out = offset - self.len;
        while left_out > 0 {
            let zeros = [0; BLOCK_LEN];
            let len = usize::try_from(left_out)
                .unwrap_or(BLOCK_LEN)
                .min(BLOCK_LEN);
            self.check = crc32c::crc32c_append(self.check, &zeros[..len]);
            left_out -= len as u64;
        }
        self.check = crc32c::crc32c_append(self.check, bytes);
        self.len = offset + bytes.len() as u64;
        if bytes.is_empty() {
            self.file.set_len(self.len)?;
            return self.file.sync_all();
        }
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(bytes)
    }
}

/// A backup that is complete, as its manifest says.
#[derive(Debug)]
pub(crate) struct CompleteBackup {
    folder: PathBuf,
    /// Its files.
    files: Vec<BackedUpFile>,
}

impl CompleteBackup {
    /// Opens a backup.
    ///
    /// # Errors
    /// There is none, it is not complete, or another version wrote it.
    pub(crate) fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(MANIFEST);
        let text = regular_file::read_text(&path, MANIFEST_LEN_MAX).map_err(|error| {
            let failure = failed("read", &path, &error);
            match error.kind() {
                ErrorKind::NotFound => failure.help(
                    "`floe backup` writes this file last: is this the folder of a backup, and was it finished?",
                ),
                _ => failure,
            }
        })?;
        let manifest: Json = serde_json::from_str(&text)
            .map_err(|error| invalid(&path, format_args!("expected JSON: {error}")))?;
        let format = manifest["format"].as_u64();
        if format != Some(FORMAT) {
            return Err(invalid(
                &path,
                format_args!(
                    "expected a backup of format {FORMAT}, got {}: another version of floe has written it",
                    manifest["format"]
                ),
            ));
        }
        let files = manifest["files"].as_array().map_or(&[][..], Vec::as_slice);
        let files: Vec<_> = files
            .iter()
            .map(|file| {
                BackedUpFile::parse(file)
                    .ok_or_else(|| invalid(&path, format_args!("expected a file, got {file}")))
            })
            .collect::<Result<_, _>>()?;
        if files.is_empty() {
            return Err(invalid(&path, format_args!("expected files, got none")));
        }
        Ok(Self {
            folder: folder.to_owned(),
            files,
        })
    }

    /// Reads all files, and compares them with the manifest.
    ///
    /// # Errors
    /// A file is missing or was altered, or the system refuses.
    pub(crate) fn verify(&self, mut done: impl FnMut(&BackedUpFile)) -> Result<(), Failure> {
        for file in &self.files {
            self.pass(file, &mut io::sink())?;
            done(file);
        }
        Ok(())
    }

    /// Writes the files to a directory that does not exist or is empty, and compares them with the manifest. The directory
    /// is there when all of it is.
    ///
    /// # Errors
    /// As [`CompleteBackup::verify`]; and if something is in the directory.
    pub(crate) fn restore(
        &self,
        data: &Path,
        mut done: impl FnMut(&BackedUpFile),
    ) -> Result<(), Failure> {
        check_empty(
            data,
            "the data of a hub is never overwritten: name another directory, or move this one away",
        )?;
        let new = beside(data)?;
        // It may be what an interrupted attempt has left, or somebody's own: nothing is removed that this attempt has not made.
        check_empty(
            &new,
            "an earlier `floe restore` may have been interrupted: remove it if it is none of yours",
        )?;
        create_folder(&new)?;
        let restored = self.restore_to(&new, &mut done);
        if restored.is_err() {
            let _ = fs::remove_dir_all(&new);
        }
        restored?;
        let rename = || {
            if data.exists() {
                fs::remove_dir(data)?;
            }
            fs::rename(&new, data)?;
            match data.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
                _ => sync_folder(Path::new(".")),
            }
        };
        rename().map_err(|error| failed("create", data, &error))
    }

    fn restore_to(&self, data: &Path, done: &mut impl FnMut(&BackedUpFile)) -> Result<(), Failure> {
        for file in &self.files {
            let path = path_of(data, &file.name)?;
            if let Some(folder) = path.parent() {
                create_folder(folder)?;
            }
            let created = create_file(&path);
            let mut target = created.map_err(|error| failed("create", &path, &error))?;
            self.pass(file, &mut target)?;
            let synced = target.sync_all();
            synced.map_err(|error| failed("sync", &path, &error))?;
            done(file);
        }
        sync_folders(data, &self.files)
    }

    /// Passes the bytes of a file on, and compares them with the manifest.
    fn pass(&self, file: &BackedUpFile, target: &mut impl Write) -> Result<(), Failure> {
        let path = path_of(&self.folder.join(DATA), &file.name)?;
        let mut copy = || {
            let mut source = regular_file::open(&path, OpenOptions::new().read(true))?;
            let (mut len, mut check) = (0, 0);
            let mut block = vec![0; BLOCK_LEN];
            loop {
                let read = match source.read(&mut block) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    read => read?,
                };
                if read == 0 {
                    return Ok((len, check));
                }
                target.write_all(&block[..read])?;
                check = crc32c::crc32c_append(check, &block[..read]);
                len += read as u64;
            }
        };
        let copied: io::Result<_> = copy();
        let (len, check) = copied.map_err(|error| failed("copy", &path, &error))?;
        if (len, check) == (file.len, file.check) {
            return Ok(());
        }
        Err(invalid(
            &path,
            format_args!(
                "expected {} bytes with the check {:08x}, got {len} with {check:08x}: the backup is damaged, use another one",
                file.len, file.check
            ),
        ))
    }
}

impl BackedUpFile {
    fn parse(file: &Json) -> Option<Self> {
        Some(Self {
            name: file["file"].as_str()?.to_owned(),
            len: file["bytes"].as_u64()?,
            check: u32::from_str_radix(file["crc32c"].as_str()?, 16).ok()?,
        })
    }
}

/// The folder in which a directory is prepared, beside it.
///
/// # Errors
/// The directory has no name, as `/` or `..` have none.
fn beside(data: &Path) -> Result<PathBuf, Failure> {
    let Some(name) = data.file_name() else {
        return Err(Failure::usage(format_args!(
            "expected a directory with a name of its own, got \"{}\"",
            data.display()
        )));
    };
    let mut new = name.to_owned();
    new.push(".restoring");
    Ok(data.with_file_name(new))
}

/// The path of a file within a folder.
///
/// # Errors
/// The name leads elsewhere. It comes from a hub or a manifest, which may be anybody's.
fn path_of(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let parts = Path::new(name).components();
    let is_inside = parts.clone().count() > 0
        && parts
            .into_iter()
            .all(|part| matches!(part, Component::Normal(_)));
    if is_inside && name.len() <= NAME_LEN_MAX && !name.contains(['\\', '\0', ':']) {
        return Ok(folder.join(name));
    }
    Err(Failure::new(
        Exit::Failure,
        format_args!(
            "expected the name of a file within the data directory of a hub, got {name:?}"
        ),
    ))
}

/// Checks that a folder does not exist or is empty.
fn check_empty(folder: &Path, help: &str) -> Result<(), Failure> {
    let first = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", folder, &error)),
        Ok(mut entries) => entries.next(),
    };
    match first {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format_args!(
            "expected a folder that does not exist or is empty, got \"{}\" with files in it",
            folder.display()
        ))
        .help(help)),
    }
}

fn create_folder(folder: &Path) -> Result<(), Failure> {
    regular_file::create_folder(folder).map_err(|error| failed("create", folder, &error))
}

/// Only the owner may read it: a backup has the events of all topics. A hub that sends a file twice makes no sense.
fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    regular_file::open(path, options.write(true).create_new(true))
}

/// Makes the names of files permanent.
fn sync_folders(data: &Path, files: &[BackedUpFile]) -> Result<(), Failure> {
    let mut last = None;
    for file in files {
        let path = path_of(data, &file.name)?;
        let folder = path.parent().unwrap_or(data).to_owned();
        if last.as_ref() != Some(&folder) {
            for folder in folder.ancestors().take_while(|it| it.starts_with(data)) {
                sync_folder(folder).map_err(|error| failed("sync", folder, &error))?;
            }
        }
        last = Some(folder);
    }
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows keeps the names of files in its journal, and has no call for it.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failure,
        format_args!("cannot {what} \"{}\": {error}", path.display()),
    )
}

fn invalid(path: &Path, text: std::fmt::Arguments<'_>) -> Failure {
    Failure::usage(format_args!("\"{}\": {text}", path.display()))
}

/// The hub has sent the parts of a backup in an order that makes no file.
fn disordered(text: std::fmt::Arguments<'_>) -> Failure {
    Failure::new(
        Exit::Failure,
        format_args!("the hub sends a backup that makes no sense: expected {text}"),
    )
}
