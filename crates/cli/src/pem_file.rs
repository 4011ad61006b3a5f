//! PEM files that the command writes: keys for their owner alone, and no file is overwritten unless that was asked for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::exit::{Exit, Failure};

/// A file to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PemFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
    /// True if only its owner may read it.
    pub(crate) is_secret: bool,
}

/// Writes all files, or none if one of them exists.
///
/// # Errors
/// A file exists, and `overwrites` is false; or a file cannot be written.
pub(crate) fn write_all(files: &[PemFile<'_>], overwrites: bool) -> Result<(), Failure> {
    for file in files.iter().filter(|_| !overwrites) {
        // A link that leads nowhere is a file, too.
        if file.path.symlink_metadata().is_ok() {
            return Err(exists(file.path));
        }
    }
    files.iter().try_for_each(|file| {
        write(*file, overwrites).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(file.path),
            _ => Failure::new(
                Exit::Failure,
                format_args!("cannot write \"{}\": {error}", file.path.display()),
            ),
        })
    })
}

/// A file that is overwritten is removed first: its permissions, and the file that a link leads to, are none of ours.
fn write(file: PemFile<'_>, overwrites: bool) -> io::Result<()> {
    if overwrites
        && let Err(error) = fs::remove_file(file.path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut written = create(file.path, file.is_secret)?;
    written.write_all(file.text.as_bytes())?;
    written.sync_all()
}

/// The mode is given when the file is made: nobody can open it in between.
fn create(path: &Path, is_secret: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if is_secret { 0o600 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = is_secret;
    options.open(path)
}

fn exists(path: &Path) -> Failure {
    Failure::new(
        Exit::Failure,
        format_args!("\"{}\" exists already", path.display()),
    )
    .help("--force overwrites it; --dir names another folder")
}
