//! `cargo xtask order`: which functions an idle hub has executed, as the linker script that lays them side by side, and
//! behind them those that forward an event, those of a hub with a topic and a subscriber, and those by which `floe sub` and
//! `floe pub` have their part in an event.
//!
//! Functions are named without the hashes of the compiler: so the script holds for other versions of the compiler and of
//! what is built, too. It takes mangled names that say which instance of a generic function is meant, as
//! `.cargo/config.toml` asks for. What the linker does not find it ignores.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{cargo, succeeds};
use crate::workspace;

/// What is written.
const SCRIPT: &str = "crates/cli/idle-hub.ld";
/// What is published.
const CONTRACT: &str = "crates/cli/contracts/Telemetry.ice";
const EVENT: [&str; 2] = [
    "sampled",
    r#"[{"number":1,"publishedAt":1,"load":1,"memoryTotal":1,"memoryAvailable":1,"interfaces":[]}]"#,
];
/// What a hub executes for an event alone, as its symbol says it.
const FORWARDING: &str = "6Events9append_to";
/// Where the link map and the profile go, in Cargo's target folder.
const FOLDER: &str = "order";
/// How long a hub is looked at that is idle, and one that forwards an event now and then.
const SETTLING: Duration = Duration::from_secs(5);
/// How long the profiler may take to write.
const PATIENCE: Duration = Duration::from_secs(30);

/// Builds the hub, runs it under the profiler, and writes the script; whether that worked.
pub(crate) fn run() -> bool {
    match write() {
        Ok(count) => {
            println!("{SCRIPT}: {count} functions");
            true
        }
        Err(reason) => {
            eprintln!("order: {reason}");
            false
        }
    }
}

fn write() -> Result<usize, String> {
    let folder = workspace::target_dir().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {FOLDER}: {error}"))?;
    let map = folder.join("floe.map");
    let link = format!("link-arg=-Wl,--no-demangle,-Map={}", map.display());
    let package = [
        "rustc",
        "--release",
        "--package",
        "floe-cli",
        "--bin",
        "floe",
    ];
    let mut build = cargo(&[&package[..], &["--", "-C", &link]].concat());
    if !succeeds(&mut build) {
        return Err("the hub does not build".to_owned());
    }
    let hub = workspace::target_dir().join("release/floe");
    let executed = profile(&hub, &folder)?;
    let map = fs::read_to_string(map).map_err(|error| format!("no link map: {error}"))?;
    let layout = Layout::of(&executed, &map);
    let written = fs::write(workspace::root().join(SCRIPT), layout.script());
    written.map_err(|error| format!("{SCRIPT}: {error}"))?;
    Ok(layout.0.iter().map(BTreeSet::len).sum())
}

/// Symbols of functions, each in the first of these that it belongs to.
struct Executed {
    /// Until the hub is idle, and not by events.
    idle: BTreeSet<String>,
    /// By both.
    both: BTreeSet<String>,
    /// By each event that is forwarded.
    events: BTreeSet<String>,
    /// When a topic is made, and a subscriber and a publisher come.
    joining: BTreeSet<String>,
    /// By subscribers and publishers, for each event.
    clients: BTreeSet<String>,
}

impl Executed {
    fn of([idle, joining, events, clients]: [BTreeSet<String>; 4]) -> Self {
        Self {
            both: idle.intersection(&events).cloned().collect(),
            idle: idle.difference(&events).cloned().collect(),
            events,
            joining,
            clients,
        }
    }

    /// As they are laid out: what an idle hub has executed stands together, and so does what an event takes.
    fn groups(&self) -> [&BTreeSet<String>; GROUPS] {
        [
            &self.idle,
            &self.both,
            &self.events,
            &self.joining,
            &self.clients,
        ]
    }
}

const GROUPS: usize = 5;

/// The symbols of all functions that a hub executes, and its clients for events.
fn profile(program: &Path, folder: &Path) -> Result<Executed, String> {
    let listen = "tcp -h 127.0.0.1 -p 0";
    let hub = ["serve", "--transient", "--listen", listen];
    let mut hub = Profiled::start(program, &hub, folder.join("hub"), Stdio::piped())?;
    let manager = hub.manager()?;
    // What it does on its own a while after it is ready belongs to an idle one.
    thread::sleep(SETTLING);
    let idle = hub.dump()?;
    let mut create = Command::new(program);
    create.args(["topic", "create", "some", "--hub", &manager]);
    if !succeeds(&mut create) {
        return Err("the hub makes no topic".to_owned());
    }
    let contract = workspace::root().join(CONTRACT);
    let contract = contract.to_str().ok_or("the checkout's path is no text")?;
    let client = |words: &[&str]| {
        let of_hub = [words, &["--hub", &manager, "--slice", contract]].concat();
        // Nobody reads what it says.
        Profiled::start(program, &of_hub, folder.join(words[0]), Stdio::null())
    };
    let mut subscriber = client(&["sub", "some"])?;
    thread::sleep(SETTLING);
    // Each waits for its answer, and for a while.
    let [operation, values] = EVENT;
    let rate = ["--count", "1000", "--rate", "20"];
    let publisher = [&["pub", "some", operation, values], &rate[..]].concat();
    let mut publisher = client(&publisher)?;
    thread::sleep(SETTLING);
    let joining = hub.dump()?;
    if !joining.contains(FORWARDING) {
        return Err("the publisher does not come in time".to_owned());
    }
    for client in [&mut subscriber, &mut publisher] {
        client.dump()?;
    }
    thread::sleep(SETTLING);
    let events = hub.dump()?;
    if !events.contains(FORWARDING) {
        return Err("no event was forwarded".to_owned());
    }
    let clients = subscriber.dump()? + &publisher.dump()?;
    Ok(Executed::of(
        [idle, joining, events, clients].map(|text| names(&text)),
    ))
}

/// A program under the profiler.
struct Profiled {
    program: Running,
    /// Where the profiler writes: files with this name and a number each.
    output: PathBuf,
    dumps: u32,
}

impl Profiled {
    fn start(
        program: &Path,
        arguments: &[&str],
        output: PathBuf,
        stdout: Stdio,
    ) -> Result<Self, String> {
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=callgrind", "--demangle=no"])
            .arg(format!("--callgrind-out-file={}", output.display()))
            .arg(program)
            .args(arguments)
            .stdout(stdout)
            .stderr(Stdio::null());
        Ok(Self {
            program: Running::start(valgrind)?,
            output,
            dumps: 0,
        })
    }

    /// The proxy that a hub says when it is ready.
    fn manager(&mut self) -> Result<String, String> {
        let stdout = self.program.0.stdout.take().map(BufReader::new);
        let ready = stdout.and_then(|lines| lines.lines().map_while(Result::ok).next());
        let ready = ready.ok_or("the hub does not become ready")?;
        let manager = ready.strip_prefix("ready ");
        Ok(manager.ok_or("the hub says no proxy")?.to_owned())
    }

    /// Has the profiler write what was executed since it last did.
    fn dump(&mut self) -> Result<String, String> {
        self.dumps += 1;
        let dumped = self.output.with_extension(self.dumps.to_string());
        // That of an earlier run would be taken for that of this one.
        let _ = fs::remove_file(&dumped);
        let mut dump = Command::new("callgrind_control");
        dump.arg("--dump")
            .arg(self.program.0.id().to_string())
            .stdout(Stdio::null());
        if !succeeds(&mut dump) {
            return Err("the profiler writes nothing".to_owned());
        }
        let until = Instant::now() + PATIENCE;
        loop {
            // Its last line is a sum over all.
            match fs::read_to_string(&dumped) {
                Ok(text) if text.contains("\ntotals: ") => return Ok(text),
                _ if Instant::now() > until => return Err("the profile does not come".to_owned()),
                _ => thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

/// A program that is ended when this is dropped.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Result<Self, String> {
        let name = command.get_program().display().to_string();
        let started = command.spawn();
        started
            .map(Self)
            .map_err(|error| format!("{name} does not start: {error}; install it"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended; else it would go on for ever.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The symbols that a profile names: `fn=(12) name` at the first time, `fn=(12)` then; `cfn` for callees.
fn names(profile: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (key, name) = line.split_once('=')?;
        let (_, name) = name.split_once(") ")?;
        matches!(key, "fn" | "cfn").then(|| without_suffix(name).to_owned())
    };
    profile.lines().filter_map(name).collect()
}

/// Sections of functions that stand together, by patterns for them in any build; one group behind the other.
#[derive(Debug, Default)]
struct Layout([BTreeSet<String>; GROUPS]);

impl Layout {
    /// The sections in which a function was executed, each in the first group that has it. In a link map, the symbols
    /// of a section are in the lines below its own: functions with the same code share one, which has the name of any
    /// of them.
    fn of(executed: &Executed, map: &str) -> Self {
        let mut layout = Self::default();
        let mut current = None;
        for line in map.lines() {
            if let Some((_, section)) = line.split_once(":(.text.") {
                current = Some(section.trim_end_matches(')'));
            } else if line.contains(":(") {
                current = None;
            } else if let (Some(section), Some(symbol)) = (current, line.split_whitespace().nth(4))
                && let symbol = without_suffix(symbol)
                && let Some(group) = executed
                    .groups()
                    .iter()
                    .position(|group| group.contains(symbol))
            {
                layout.add(group, section);
            }
        }
        layout
    }

    fn add(&mut self, group: usize, section: &str) {
        let (kind, symbol) = match section.strip_prefix("unlikely.") {
            Some(symbol) => ("unlikely.", symbol),
            None => ("", section),
        };
        let pattern = format!("{kind}{}", without_hashes(symbol));
        // Functions that differ by a hash alone are one here.
        if !self.0.iter().any(|group| group.contains(&pattern)) {
            self.0[group].insert(pattern);
        }
    }

    fn script(&self) -> String {
        let statements: String = self.0.iter().map(statement).collect();
        HEAD.to_owned() + &statements + "  }\n}\nINSERT BEFORE .text;\n"
    }
}

fn statement(sections: &BTreeSet<String>) -> String {
    let mut text = "    *(\n".to_owned();
    for section in sections {
        text += &format!("      .text.{section}\n");
    }
    text + "    )\n"
}

const HEAD: &str = "\
/* The functions that an idle hub has executed, side by side: they fill whole pages, and few others are resident. Behind
   them those that an event takes, those of a hub with subscribers, and those that an event takes in `floe sub` and
   `floe pub`. Their names are without hashes, and hold for other versions of the compiler and of what is built. Made by
   `cargo xtask order`. */
SECTIONS
{
  .text.hub :
  {
";

/// A symbol without what the optimiser adds to it.
fn without_suffix(symbol: &str) -> &str {
    symbol
        .split_once(".llvm.")
        .map_or(symbol, |(symbol, _)| symbol)
}

/// A pattern for a symbol with any hashes. In a mangled name each crate has one, `Cs…_`, and what is named for the
/// second time is a place in the name, `B…_`, which differs with the length of the hashes before it.
fn without_hashes(symbol: &str) -> String {
    let symbol = without_suffix(symbol);
    let mut pattern = String::new();
    let mut rest = symbol;
    while let Some(at) = rest.find(['C', 'B']) {
        let (before, found) = rest.split_at(at);
        pattern += before;
        let tag = if found.starts_with("Cs") { 2 } else { 1 };
        let number = &found[tag..];
        let len = number.find(|c: char| !c.is_ascii_alphanumeric());
        let len = len.filter(|&len| number[len..].starts_with('_'));
        let is_hash = |len: &usize| match tag {
            2 => *len >= HASH_LEN_MIN,
            _ => found.starts_with('B') && *len <= PLACE_LEN_MAX,
        };
        pattern += &found[..tag];
        rest = match len.filter(is_hash) {
            Some(len) => {
                pattern += "*";
                &number[len..]
            }
            None => number,
        };
    }
    pattern + rest + "*"
}

/// Digits of a crate's hash, to base 62: they are seldom fewer.
const HASH_LEN_MIN: usize = 5;
/// Digits of a place in a name, to base 62.
const PLACE_LEN_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_keep_names_and_lose_hashes() {
        let name = "_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVechE8grow_oneB7_.llvm.77";
        let expected = "_RNvMs3_NtCs*_5alloc7raw_vecINtB*_6RawVechE8grow_oneB*_*";
        assert_eq!(without_hashes(name), expected);
        // What only looks like a hash, or like a place, is kept.
        let name = "_RNvCs1a2b3c4d5e6_4floe9CsA_Boxes_";
        assert_eq!(without_hashes(name), "_RNvCs*_4floe9CsA_Boxes_*");
    }

    #[test]
    fn only_what_was_executed_is_laid_out() {
        let [b, c, d, e] = ["b", "c", "d", "e"].map(|name| format!("_RNvCs1a2b3c4d5e6_1a1{name}"));
        let profile = format!("fn=(1) {b}\n+1 2\ncfn=(2) {c}.llvm.5\ntotals: 3\n");
        let section = |kind: &str, name: &str, symbol: &str| {
            let object = "/x/floe-1.a-2.a.3-cgu.0.rcgu.o.rcgu.o";
            format!("1 1 2 16  {object}:(.text.{kind}{name})\n1 1 2 1    {symbol}\n")
        };
        let map = section("", &e, &b) + &section("unlikely.", &c, &c) + &section("", &d, &d);
        let idle = || names(&profile);
        let none = BTreeSet::new;
        let script = |executed| Layout::of(&executed, &map).script();
        let text = script(Executed::of([idle(), none(), none(), none()]));
        let sections = "*(\n      .text._RNvCs*_1a1e*\n      .text.unlikely._RNvCs*_1a1c*\n    )";
        assert!(text.contains(sections), "{text}");
        assert!(!text.contains("1a1d"), "{text}");

        // What an event takes as well stands behind the rest of what an idle hub has executed, and is there once.
        let in_order = |text: &str, names: &[&str]| {
            let places: Vec<_> = names.iter().map(|it| text.find(it)).collect();
            assert!(places.is_sorted() && places[0].is_some(), "{text}");
            assert_eq!(text.matches("1a1e").count(), 1, "{text}");
        };
        let events = BTreeSet::from([b.clone(), d.clone()]);
        let text = script(Executed::of([idle(), none(), events.clone(), none()]));
        in_order(&text, &["1a1c", "1a1e", "1a1d"]);
        let text = script(Executed::of([idle(), events.clone(), none(), none()]));
        in_order(&text, &["1a1e", "1a1d"]);
        let text = script(Executed::of([idle(), none(), none(), events]));
        in_order(&text, &["1a1e", "1a1d"]);
    }
}
