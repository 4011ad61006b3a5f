//! Opens files that must be regular ones, and reads no more of them than expected.
//!
//! Files that a server keeps, or that its settings name, are opened here: a named pipe would let it wait for ever, and a device has no end. It reads
//! them again while it runs, so what comes once, such as the output of another program, is no such file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Opens a regular file, or a symbolic link to one. It never waits for another process. If it makes the file, only its
/// owner may read and write it: what a server keeps is not for everybody on its computer.
///
/// # Errors
/// As those of [`OpenOptions::open`]; and if something else is in the place of the file.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // Opening a device may have effects.
    if let Ok(metadata) = fs::metadata(path) {
        check(&metadata)?;
    }
    never_waits(options);
    for_owner(options);
    let file = options.open(path)?;
    // Something else may have taken its place.
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `len_max` bytes.
///
/// # Errors
/// As those of [`open`]; and if the file is longer.
pub fn read(path: &Path, len_max: usize) -> io::Result<Vec<u8>> {
    let file = open(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(len_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > len_max {
        let text =
            format!("expected at most {len_max} bytes, got more: put the right file in its place");
        return Err(io::Error::new(ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `len_max` bytes as text, without the byte order mark that editors of Windows put in front.
///
/// # Errors
/// As those of [`read`]; and if the file is not UTF-8.
pub fn read_text(path: &Path, len_max: usize) -> io::Result<String> {
    text(read(path, len_max)?)
}

/// Bytes as text, without a byte order mark.
///
/// # Errors
/// The bytes are not UTF-8. The message says which line has something else.
pub fn text(mut bytes: Vec<u8>) -> io::Result<String> {
    bytes.drain(..bytes.len() - without_mark(&bytes).len());
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let got = match bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16: save the text as UTF-8".to_owned(),
            bytes => format!("byte 0x{:02x} in line {line}, at byte {at}", bytes[at]),
        };
        io::Error::new(ErrorKind::InvalidData, format!("expected UTF-8, got {got}"))
    })
}

/// Bytes without the byte order mark of UTF-8.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Opens a file that lines are appended to, or creates it for its owner alone. It may also be a terminal or a named pipe: neither the open
/// nor a write waits for the program that reads it, but fails.
///
/// # Errors
/// As those of [`OpenOptions::open`], with the path.
pub fn open_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    for_owner(&mut options);
    never_waits(&mut options);
    options.open(path).map_err(|error| {
        let text = format!("cannot open {}: {error}", path.display());
        io::Error::new(error.kind(), text)
    })
}

/// Makes a folder, and those above it, as far as they are missing. Only their owner may look into those that it makes.
///
/// # Errors
/// As those of [`fs::create_dir_all`].
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Returns true if users other than the owner of a file may read it, so that it is no place for a secret. On Windows, it is
/// never true.
pub fn is_for_others(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.permissions().mode() & 0o044 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Lets only the owner of a file that is made read and write it.
#[cfg(unix)]
fn for_owner(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

/// Nothing to do: a file of Windows has the rights of its folder.
#[cfg(not(unix))]
fn for_owner(_options: &mut OpenOptions) {}

/// Lets the open of a named pipe, and writes into it, fail instead of wait. Regular files know no such wait.
#[cfg(unix)]
fn never_waits(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

/// Nothing to do: files of Windows do not wait.
#[cfg(not(unix))]
fn never_waits(_options: &mut OpenOptions) {}

/// Checks that this is a regular file.
///
/// # Errors
/// It is something else, which the error names.
pub fn check(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let text = format!(
        "expected a regular file, got a {}: put the file in its place",
        kind(metadata)
    );
    Err(io::Error::new(ErrorKind::Unsupported, text))
}

fn kind(metadata: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        let others = [
            (kind.is_fifo(), "named pipe"),
            (kind.is_socket(), "socket"),
            (kind.is_char_device() || kind.is_block_device(), "device"),
        ];
        if let Some((_, name)) = others.into_iter().find(|(is_it, _)| *is_it) {
            return name;
        }
    }
    match metadata.is_dir() {
        true => "folder",
        false => "file of another kind",
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("floe-regular-file-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let folder = Folder::new("kinds");
        let at = |name: &str| folder.0.join(name);
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        symlink("/dev/zero", at("zeros")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        fs::write(at("file"), "text").unwrap();
        for (name, expected) in [
            ("pipe", "got a named pipe"),
            ("socket", "got a socket"),
            ("zeros", "got a device"),
            ("", "got a folder"),
        ] {
            let mut all = OpenOptions::new();
            all.read(true).write(true).create(true);
            for options in [
                OpenOptions::new().read(true),
                OpenOptions::new().write(true),
                &mut all,
            ] {
                let error = open(&at(name), options).unwrap_err().to_string();
                assert!(error.contains(expected), "{name}: {error}");
            }
        }
        for name in ["file", "link"] {
            assert_eq!(read_text(&at(name), 4).unwrap(), "text");
        }
    }

    #[test]
    fn what_is_made_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("rights");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (file, inner) = (folder.0.join("file"), folder.0.join("a/b"));
        open(&file, OpenOptions::new().write(true).create(true)).unwrap();
        assert_eq!(mode(&file), 0o600);
        assert!(!is_for_others(&fs::metadata(&file).unwrap()));
        open_log(&folder.0.join("log")).unwrap();
        assert_eq!(mode(&folder.0.join("log")), 0o600);
        create_folder(&inner).unwrap();
        assert_eq!([mode(&inner), mode(&folder.0.join("a"))], [0o700; 2]);
        // One that is there keeps the rights that its owner has chosen.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        open(&file, OpenOptions::new().write(true).create(true)).unwrap();
        assert_eq!(mode(&file), 0o640);
        assert!(is_for_others(&fs::metadata(&file).unwrap()));
    }

    #[test]
    fn a_log_that_is_a_pipe_is_not_waited_for() {
        let folder = Folder::new("log");
        let pipe = folder.0.join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let (tell, told) = channel();
        let path = pipe.clone();
        thread::spawn(move || tell.send(open_log(&path)));
        let opened = told.recv_timeout(Duration::from_secs(60));
        let error = opened.expect("it waits for a reader").unwrap_err();
        let expected = format!("cannot open {}: ", pipe.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        // Its reader reads nothing, so the pipe fills up.
        let mut options = OpenOptions::new();
        never_waits(options.read(true));
        let _reader = options.open(&pipe).unwrap();
        let mut log = open_log(&pipe).unwrap();
        let (tell, told) = channel();
        thread::spawn(move || {
            while log.write_all(b"line\n").is_ok() {}
            tell.send(())
        });
        let full = told.recv_timeout(Duration::from_secs(60));
        full.expect("it waits for room");
    }

    #[test]
    fn no_more_is_read_than_expected() {
        let folder = Folder::new("long");
        let path = folder.0.join("long");
        File::create(&path).unwrap().set_len(4 << 30).unwrap();
        let error = read(&path, 1000).unwrap_err().to_string();
        assert!(
            error.starts_with("expected at most 1000 bytes, got more"),
            "{error}"
        );
        fs::write(&path, b"ab\xff").unwrap();
        let error = read_text(&path, 1000).unwrap_err().to_string();
        assert_eq!(error, "expected UTF-8, got byte 0xff in line 1, at byte 2");
        fs::write(&path, b"\xff\xfea\0").unwrap();
        let error = read_text(&path, 1000).unwrap_err().to_string();
        assert_eq!(error, "expected UTF-8, got UTF-16: save the text as UTF-8");
        fs::write(&path, "\u{feff}a\u{feff}").unwrap();
        assert_eq!(read_text(&path, 1000).unwrap(), "a\u{feff}");
    }
}
