//! Running other programs: always from the repository's root, and always saying what runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::workspace;

/// A command in the repository's root.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace::root());
    command
}

/// `cargo` with `arguments`: the one that runs this task.
///
/// Without incremental builds: what they keep of each of a hundred test programs takes as much disk as all else
/// together, and where the gate runs, most builds start cold.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = command(&cargo, arguments);
    command.env("CARGO_INCREMENTAL", "0");
    command
}

/// Runs a command with its output on the terminal; whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    announce(command);
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => cannot_start(command, &error),
    }
}

/// Runs a command silently, without input; whether it succeeded.
pub(crate) fn succeeds_silently(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a command and hands each line of its standard output to `each_line`, after printing it.
pub(crate) fn succeeds_reading(command: &mut Command, mut each_line: impl FnMut(&str)) -> bool {
    announce(command);
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return cannot_start(command, &error),
    };
    let output = child.stdout.take().expect("stdout was asked to be a pipe");
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        each_line(&line);
    }
    child.wait().is_ok_and(|status| status.success())
}

/// All that a command prints, after showing it, if it succeeds.
pub(crate) fn output_if_succeeds(command: &mut Command) -> Option<String> {
    announce(command);
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            cannot_start(command, &error);
            return None;
        }
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    eprint!("{said}");
    output.status.success().then_some(said)
}

/// All that a command prints to its standard output, unseen, if it succeeds; errors go to the terminal.
pub(crate) fn output_of(command: &mut Command) -> Option<String> {
    announce(command);
    let output = match command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
    {
        Ok(output) => output,
        Err(error) => {
            cannot_start(command, &error);
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(said)
}

/// Runs a command for at most `limit`, then ends it; whether it succeeded in time.
pub(crate) fn succeeds_within(limit: Duration, command: &mut Command) -> bool {
    announce(command);
    let mut child = match command.stdin(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) => return cannot_start(command, &error),
    };
    let status = ended_within(limit, &mut child);
    if status.is_none() {
        eprintln!("note: ended after {} s without an answer", limit.as_secs());
    }
    status.is_some_and(|status| status.success())
}

/// Waits for a process for at most `limit`; `None` if it had to be killed then.
pub(crate) fn ended_within(limit: Duration, child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(100));
    }
    // It may have ended in the meantime; then there is nothing to end.
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// The first line of a command's standard output, if it succeeds.
pub(crate) fn first_line(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

fn announce(command: &Command) {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    eprintln!("+ {}", words.join(" "));
}

fn cannot_start(command: &Command, error: &std::io::Error) -> bool {
    eprintln!(
        "error: cannot start `{}`: {error}",
        command.get_program().to_string_lossy()
    );
    false
}
