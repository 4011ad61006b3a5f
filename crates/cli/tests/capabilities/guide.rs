//! The guides `access.md`, `floe-command.md`, `json.md`, `operating.md` and `ping.md` in `docs/guides/`: every command in them is run, and
//! prints what they say.
//!
//! In a `console` block a line `$ COMMAND` is run by a shell, and the lines below it are what it
//! prints on both outputs. A command that ends in `&` keeps running; a `json` block is what the
//! last of these prints next. A `toml` block becomes a `floe.toml`. A `text` block is left alone. The port of the first is another one
//! than in the guide.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::floe;
use crate::hub::Running;

#[test]
fn the_guide_to_the_command_says_what_happens() {
    let guide = include_str!("../../../../docs/guides/floe-command.md");
    follow(guide, Reader::new("guide"));
}

#[test]
fn the_guide_to_json_says_what_happens() {
    let guide = include_str!("../../../../docs/guides/json.md");
    follow(guide, Reader::new("guide-json"));
}

#[test]
fn the_guide_to_ping_says_what_happens() {
    let guide = include_str!("../../../../docs/guides/ping.md");
    follow(guide, Reader::new("guide-ping"));
}

#[test]
fn the_guide_to_operating_a_hub_says_what_happens() {
    let guide = include_str!("../../../../docs/guides/operating.md");
    follow(guide, Reader::new("guide-operating"));
}

#[cfg(feature = "tls")]
#[test]
fn the_guide_to_access_says_what_happens() {
    let guide = include_str!("../../../../docs/guides/access.md");
    let reader = Reader::new("guide-access");
    let keys = include_str!("../../../access/tests/tokens/keys.pem");
    reader.write("issuer.pem", keys);
    follow(guide, reader);
}

/// Does what a guide says.
fn follow(guide: &str, mut reader: Reader) {
    let mut blocks = guide.split("\n```");
    // What stands in front of the first block; then a block and the text behind it, in turn.
    blocks.next();
    let mut count = 0;
    while let Some(block) = blocks.next() {
        let (language, text) = block.split_once('\n').expect("a block has lines");
        match language {
            "console" => text
                .split("\n$ ")
                .for_each(|command| reader.command(command)),
            "json" => reader.later(text),
            "toml" => reader.write("floe.toml", text),
            "text" => {}
            other => panic!("expected a block of console, json, toml or text, got {other}"),
        }
        count += 1;
        blocks.next();
    }
    assert!(count > 3, "the guide has blocks");
}

/// Somebody who types what the guide says.
struct Reader {
    folder: PathBuf,
    /// Commands that keep running; a server is the first.
    running: Vec<Running>,
    /// The port of the server, and the one that it has in the guide.
    port: String,
    guide_port: String,
}

impl Reader {
    fn new(folder: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        Self {
            folder,
            running: Vec::new(),
            port: "10000".to_owned(),
            guide_port: "10000".to_owned(),
        }
    }

    /// Makes a file.
    fn write(&self, name: &str, text: &str) {
        let file = self.folder.join(name);
        std::fs::write(file, text).expect("the target folder can be written");
    }

    /// Runs a command, and compares what it prints with the lines below it.
    fn command(&mut self, text: &str) {
        let text = text.strip_prefix("$ ").unwrap_or(text);
        let (command, expected) = text.split_once('\n').unwrap_or((text, ""));
        match command.strip_suffix(" &") {
            Some(command) => self.start(command, expected),
            None => assert_eq!(self.run(command), expected.trim_end(), "{command}"),
        }
    }

    /// Checks the next output of the last command that keeps running.
    fn later(&self, expected: &str) {
        let running = self.running.last().expect("something keeps running");
        assert_eq!(running.line(), expected);
    }

    fn start(&mut self, command: &str, expected: &str) {
        let is_server = self.running.is_empty();
        let listen = if is_server {
            " --listen 'tcp -h 127.0.0.1 -p 0'"
        } else {
            ""
        };
        let running = Running::run(self.shell(&format!("exec {command}{listen}")));
        if is_server {
            let line = running.line();
            self.port = port(&line);
            self.guide_port = port(expected);
            assert_eq!(self.as_in_guide(&line), expected);
        } else {
            running.talk(expected);
        }
        self.running.push(running);
    }

    fn run(&self, command: &str) -> String {
        let output = self.shell(&format!("{{ {command}; }} 2>&1")).output();
        let output = output.expect("there is a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        self.as_in_guide(text.trim_end())
    }

    fn as_in_guide(&self, text: &str) -> String {
        let [own, guide] = [&self.port, &self.guide_port].map(|port| format!("-p {port}"));
        text.replace(&own, &guide)
    }

    fn shell(&self, script: &str) -> Command {
        let [own, guide] = [&self.port, &self.guide_port].map(|port| format!("-p {port}"));
        let script = script.replace(&guide, &own);
        let floe = floe();
        let folder = Path::new(floe.get_program())
            .parent()
            .expect("it lies in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let examples = self.folder.join("examples");
        if std::fs::read_link(&examples).ok().as_deref() != Some(Path::new(root)) {
            // One that another checkout left behind leads nowhere, or to other examples.
            let _ = std::fs::remove_file(&examples);
            std::os::unix::fs::symlink(root, examples).expect("the target folder can be written");
        }
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .current_dir(&self.folder)
            .stdin(std::process::Stdio::null())
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("FLOE_HUB", format!("tcp -h 127.0.0.1 -p {}", self.port))
            .env_remove("FLOE_LOG")
            .env_remove("RUST_LOG");
        command
    }
}

/// The port in the line with which a server says that it is ready.
fn port(line: &str) -> String {
    let behind = line.split(" -p ").nth(1);
    let port = behind.and_then(|rest| rest.split(' ').next());
    port.expect("it says its port").to_owned()
}
