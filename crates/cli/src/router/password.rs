//! The password of a user: from a file, from the environment, or from a terminal. It is never an argument, because
//! arguments are shown to everyone who lists processes.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use floe::regular_file;

use crate::exit::Failure;
use crate::input::Lines;
use floe_server::warn_of_readers;

/// The environment variable with the password.
const VARIABLE: &str = "FLOE_PASSWORD";

/// The password of this user: the first line of the file, or else the variable, or else what somebody types.
///
/// # Errors
/// There is none.
pub(super) fn of(user: &str, file: Option<&Path>) -> Result<String, Failure> {
    if let Some(path) = file {
        return of_file(path);
    }
    match std::env::var(VARIABLE) {
        Ok(password) if !password.is_empty() => Ok(password),
        _ => typed(user),
    }
}

fn of_file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| Failure::usage(format_args!("cannot read {name}: {error}")))?;
    // A pipe is for whoever opened it.
    if file
        .metadata()
        .is_ok_and(|it| it.is_file() && regular_file::is_for_others(&it))
    {
        warn_of_readers(path);
    }
    let file = BufReader::new(file.take(FILE_LEN_MAX));
    match Lines::new(file, name.clone()).next().transpose()? {
        Some((password, _)) if !password.is_empty() => Ok(password),
        _ => Err(Failure::usage(format_args!(
            "expected a password in the first line of {name}, got nothing"
        ))),
    }
}

/// Bytes of a file of which more is never read.
const FILE_LEN_MAX: u64 = 64 * 1024;

fn missing(user: &str) -> Failure {
    Failure::usage(format_args!("there is no password for the user {user:?}")).help(format_args!(
        "put it into the environment variable {VARIABLE}, or name a file with --password-file"
    ))
}

#[cfg(not(unix))]
fn typed(user: &str) -> Result<String, Failure> {
    Err(missing(user))
}

/// Asks at the terminal, which shows nothing of what is typed.
#[cfg(unix)]
fn typed(user: &str) -> Result<String, Failure> {
    use std::io::Write;

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let mut options = File::options();
    let Ok(mut terminal) = options.read(true).write(true).open("/dev/tty") else {
        return Err(missing(user));
    };
    let failed = |error: std::io::Error| {
        Failure::usage(format_args!(
            "cannot ask the terminal for a password: {error}"
        ))
    };
    let before = tcgetattr(&terminal).map_err(|error| failed(error.into()))?;
    let mut quiet = before.clone();
    // Signals come as characters, too, so that Ctrl-C does not leave a terminal that shows nothing.
    quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    let shown: String = user.chars().flat_map(char::escape_debug).collect();
    let typed = write!(terminal, "password of {shown}: ")
        .and_then(|()| {
            tcsetattr(&terminal, OptionalActions::Flush, &quiet)?;
            line(&mut terminal)
        })
        .map_err(failed);
    let restored = tcsetattr(&terminal, OptionalActions::Flush, &before);
    let _ = writeln!(terminal);
    restored.map_err(|error| failed(error.into()))?;
    match typed? {
        Some(password) if password.is_empty() => Err(missing(user)),
        Some(password) => String::from_utf8(password)
            .map_err(|_| Failure::usage("expected a password in UTF-8, got something else")),
        None => Err(Failure::silent(crate::exit::Exit::Interrupted)),
    }
}

/// Reads a line as it is typed. `None` if it was Ctrl-C.
#[cfg_attr(not(unix), allow(dead_code))]
fn line(terminal: &mut impl Read) -> std::io::Result<Option<Vec<u8>>> {
    let mut line: Vec<u8> = Vec::new();
    let mut byte = [0];
    while line.len() < LINE_LEN_MAX && terminal.read(&mut byte)? == 1 {
        match byte[0] {
            CTRL_C => return Ok(None),
            b'\n' | b'\r' | CTRL_D => break,
            BACKSPACE | DELETE => {
                // The last character may have several bytes.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            CTRL_U => line.clear(),
            other => line.push(other),
        }
    }
    Ok(Some(line))
}

/// Bytes of a password.
const LINE_LEN_MAX: usize = 1024;
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const CTRL_U: u8 = 21;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_can_be_mended() {
        for (typed, expected) in [
            (&b"secret\nmore"[..], Some(&b"secret"[..])),
            (b"wrong\x15sec\xc3\xa4\x7fret\r", Some(b"secret")),
            (b"\x08secret", Some(b"secret")),
            (b"sec\x03ret\n", None),
        ] {
            let line = line(&mut &*typed).expect("it can be read");
            assert_eq!(line.as_deref(), expected, "{typed:?}");
        }
    }
}
