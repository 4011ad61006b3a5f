//! The output of the command on a terminal: a pseudo terminal, so that it takes it for one.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::command::{floe, run, slice_file};
use crate::hub::Hub;

/// A command whose standard output is a terminal; of 24 lines, 100 characters each, unless said otherwise.
pub(crate) struct OnTerminal {
    child: Child,
    seen: JoinHandle<String>,
}

impl OnTerminal {
    fn start(arguments: &[&str]) -> Self {
        Self::of_size(24, 100, arguments)
    }

    pub(crate) fn of_size(lines: u16, chars: u16, arguments: &[&str]) -> Self {
        let mut command = floe();
        command.args(arguments);
        Self::run(lines, chars, command)
    }

    pub(crate) fn run(lines: u16, chars: u16, mut command: Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let screen = openpt(flags).expect("the system has pseudo terminals");
        grantpt(&screen).expect("it is ours");
        unlockpt(&screen).expect("it is ours");
        let size = Winsize {
            ws_row: lines,
            ws_col: chars,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&screen, size).expect("a terminal has a size");
        let name = ptsname(&screen, Vec::new()).expect("it has a name");
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let terminal = OpenOptions::new().read(true).write(true).open(name);
        command.env("TERM", "xterm");
        command.stdout(Stdio::from(terminal.expect("it can be opened")));
        let child = command.spawn().expect("the command is there");
        // The command keeps the terminal open on the other side.
        drop(command);
        let seen = std::thread::spawn(move || read_to_end(screen));
        Self { child, seen }
    }

    /// All that was written until it ended, and how that was.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        let status = self.child.wait().expect("a child can be waited for");
        (self.seen.join().expect("no panic"), status.code())
    }
}

/// Reads from a terminal until nobody has it open any more, which is an error and not an end.
fn read_to_end(screen: OwnedFd) -> String {
    let (mut screen, mut seen, mut buffer) = (File::from(screen), Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(seen).expect("it is text")
}

/// Takes the cursor home and all away that was there.
const CLEAR: &str = "\x1b[H\x1b[2J";

#[test]
fn watch_draws_its_table_anew_on_a_terminal() {
    let hub = Hub::start();
    let file = slice_file("terminal.ice", "module M { interface I { void f(); } }");
    for topic in ["alarms", "news"] {
        hub.run(&["topic", "create", topic]).ended(0);
    }
    let publish = ["pub", "news", "f", "--slice", &file, "-n", "3"];
    hub.run(&publish).ended(0);
    let watch = ["topic", "watch", "-n", "3", "--interval", "50ms"];
    let watching = OnTerminal::start(&[&watch[..], &["--hub", &hub.manager]].concat());
    let (seen, code) = watching.end();
    // The heading is bold.
    let seen = seen.replace("\x1b[1m", "").replace("\x1b[0m", "");
    assert_eq!(code, Some(0), "{seen}");
    let screens: Vec<&str> = seen.split(CLEAR).collect();
    assert_eq!((screens.len(), screens[0]), (4, ""), "{seen:?}");
    for screen in &screens[1..] {
        let lines: Vec<&str> = screen.trim_end().lines().collect();
        let first_words = lines
            .iter()
            .map(|line| line.split(' ').next().unwrap_or_default());
        let expected = ["NAME", "alarms", "news", "(all)"];
        assert_eq!(first_words.collect::<Vec<_>>(), expected, "{screen:?}");
        // Published, and lost: the last two columns.
        let words: Vec<&str> = lines[2].split_whitespace().rev().take(2).collect();
        assert_eq!(words, ["0", "3"], "{screen:?}");
    }
}

#[test]
fn where_the_cursor_cannot_be_moved_tables_follow_one_another() {
    let hub = Hub::start();
    let watch = [
        "topic",
        "watch",
        "-n",
        "2",
        "--interval",
        "50ms",
        "-o",
        "table",
    ];
    let ran = hub.run(&watch).ended(0);
    assert!(!ran.stdout.contains('\x1b'), "{ran:?}");
    assert_eq!(ran.stdout.matches("NAME").count(), 2, "{ran:?}");
}

/// The lines of a screen, without what styles letters or moves the cursor.
pub(crate) fn lines(screen: &str) -> Vec<String> {
    let mut parts = screen.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A sequence ends with its first letter.
        let end = part.find(|char: char| char.is_ascii_alphabetic());
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    let lines = plain.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn watch_fits_into_80_by_24_whatever_there_is() {
    let hub = Hub::start();
    let names: Vec<String> = (0..40)
        .map(|number| format!("{number:02}-{}", "a-rather-long-name-of-a-topic".repeat(3)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    hub.run(&[&["topic", "create"], &names[..]].concat())
        .ended(0);
    let watch = [
        "topic",
        "watch",
        "-n",
        "1",
        "--interval",
        "50ms",
        "--hub",
        &hub.manager,
    ];
    let (seen, code) = OnTerminal::of_size(24, 80, &watch).end();
    assert_eq!(code, Some(0), "{seen}");
    let screen = seen.split(CLEAR).nth(1).expect("it draws a screen");
    let lines = lines(screen);
    assert!(lines.len() < 24, "{lines:#?}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{lines:#?}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("(all)")),
        "{lines:#?}"
    );
    assert_eq!(
        lines.last().map(String::as_str),
        Some("20 more topics; --sort, --filter or names choose")
    );
}

#[test]
fn watch_sorts_and_filters() {
    let hub = Hub::start();
    let file = slice_file("watch-sort.ice", "module M { interface I { void f(); } }");
    hub.run(&["topic", "create", "aa", "ab", "ba"]).ended(0);
    hub.run(&["pub", "ab", "f", "--slice", &file, "-n", "5"])
        .ended(0);
    let watch = [
        "topic",
        "watch",
        "-n",
        "1",
        "--interval",
        "50ms",
        "-o",
        "json",
    ];
    let names = |options: &[&str]| {
        let look = hub.run(&[&watch[..], options].concat()).ended(0).json();
        let topics = look["topics"].as_array().expect("a list").clone();
        topics
            .iter()
            .map(|it| it["name"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["aa", "ab", "ba"]);
    assert_eq!(names(&["--filter", "a"]), ["aa", "ab", "ba"]);
    assert_eq!(names(&["--filter", "ab"]), ["ab"]);
    assert_eq!(names(&["--sort", "queued"]), ["aa", "ab", "ba"]);
}

#[test]
fn a_terminal_does_not_obey_what_a_peer_has_written() {
    let slice = slice_file("hostile.ice", "module M { struct S { string s; } }");
    // A title for the window, and a sequence that clears the screen.
    let hostile = "a\u{1b}]0;title\u{7}\u{9b}2J\nb";
    let hex: String = std::iter::once(u8::try_from(hostile.len()).expect("it is short"))
        .chain(hostile.bytes())
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let decode = |format: &'static str| ["decode", &hex, "--type", "string", "-o", format];
    let shown = |format| {
        let arguments = [&decode(format)[..], &["--slice", &slice]].concat();
        let (seen, code) = OnTerminal::start(&arguments).end();
        assert_eq!(code, Some(0), "{seen:?}");
        seen
    };
    let escaped = "a\\u001b]0;title\\u0007\\u009b2J";
    assert_eq!(shown("raw"), format!("{escaped}\r\nb\r\n"));
    for format in ["json", "jsonl", "table"] {
        assert_eq!(shown(format), format!("\"{escaped}\\nb\"\r\n"), "{format}");
    }
    // A pipe gets every byte as it came.
    let arguments = [&decode("raw")[..], &["--slice", &slice]].concat();
    assert_eq!(run(&arguments).ended(0).stdout, format!("{hostile}\n"));

    // The same holds for messages on standard error.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1"]);
    command.arg(floe().get_program());
    command.args(["proxy", "parse", &format!("{hostile}:none")]);
    let (seen, code) = OnTerminal::run(24, 100, command).end();
    assert_eq!(code, Some(2), "{seen:?}");
    let lines = seen.replace("\r\n", "\n");
    assert!(lines.contains(escaped), "{lines:?}");
    let is_obeyed = |c: char| c.is_control() && c != '\n';
    assert!(!lines.contains(is_obeyed), "{lines:?}");
}
