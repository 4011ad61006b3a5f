//! The examples, run as a reader runs them: each pair of programs, in Rust, in Python, and in C++ where there is a twin.
//!
//! An example is a folder with an `example.toml`:
//!
//! ```toml
//! first = "server"        # started first; prints a line that starts with `ready`
//! second = "client"       # started then; ends by itself
//! hub = false             # whether they meet at a hub
//! durable = "orders"      # a durable topic of the hub; may be left out
//! gateway = false         # whether the second reaches the first through a gateway; may be left out
//! rust-only = ["server"]  # programs that are not there in Python; may be left out
//! first-prints = []       # lines that come in this order, perhaps among others; `*` is any text
//! second-prints = ["Hello, *"]
//! ```
//!
//! The program `server` of the example `greeter` is the binary `greeter-server` of the workspace in Rust, and
//! `examples/greeter/server.py` in Python; some have it in C++ too, in `examples/greeter/server.cpp`. With a hub, each program gets the hub's endpoint as its only argument; without
//! one, the first gets an endpoint to listen on, prints `ready PROXY`, and the second gets that proxy, and with a gateway the
//! proxy of its router, too. Both run in an empty folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use floe_tests::gateway::Router;
use floe_tests::hub::{Data, Hub, serve};
use floe_tests::ice::Ice;
use floe_tests::peer::Peer;
use floe_tests::{skip, workspace};
use toml::{Table, Value};

#[test]
fn every_pair_of_rust_programs_prints_what_the_example_promises() {
    examples()
        .iter()
        .for_each(|example| example.run(&Language::Rust, &Language::Rust));
}

#[test]
fn every_pair_with_a_python_program_prints_what_the_example_promises() {
    let python = match Ice::find() {
        Ok(ice) => Language::Python(ice.python().to_owned()),
        Err(reason) => return skip::report("ice", &reason),
    };
    for example in examples() {
        for (first, second) in [
            (&python, &Language::Rust),
            (&Language::Rust, &python),
            (&python, &python),
        ] {
            if example.first.is_in(first) && example.second.is_in(second) {
                example.run(first, second);
            }
        }
    }
}

#[test]
fn every_pair_with_a_program_in_cpp_prints_what_the_example_promises() {
    let ice = match Ice::find() {
        Ok(ice) => ice,
        Err(reason) => return skip::report("ice", &reason),
    };
    let cpp = Language::Cpp(ice);
    let examples = examples();
    let twins: Vec<_> = examples.iter().filter(|one| one.has_cpp()).collect();
    assert!(twins.len() >= 3, "{twins:?}");
    for example in twins {
        for (first, second) in [
            (&cpp, &Language::Rust),
            (&Language::Rust, &cpp),
            (&cpp, &cpp),
        ] {
            example.run(first, second);
        }
    }
}

#[test]
fn every_example_has_what_a_reader_looks_for() {
    for example in examples() {
        let names: Vec<String> = names_in(&example.folder());
        assert!(
            names.iter().any(|name| name == "README.md"),
            "{}: no README.md",
            example.name
        );
        assert!(
            names.iter().any(|name| name.ends_with(".ice")),
            "{}: no contract",
            example.name
        );
    }
}

/// The content of `example.toml`.
#[derive(Debug)]
struct Example {
    name: String,
    first: Program,
    second: Program,
    hub: bool,
    /// A durable topic of the hub.
    durable: Option<String>,
    gateway: bool,
}

#[derive(Debug)]
struct Program {
    name: String,
    /// True if it is not there in Python.
    is_rust_only: bool,
    /// Lines it must print, in this order.
    prints: Vec<String>,
}

#[derive(Debug)]
enum Language {
    Rust,
    /// With the path of the interpreter that has Ice.
    Python(PathBuf),
    Cpp(Ice),
}

impl Program {
    fn is_in(&self, language: &Language) -> bool {
        matches!(language, Language::Rust) || !self.is_rust_only
    }
}

impl Example {
    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let table: Table = text
            .parse()
            .map_err(|error| format!("{name}/example.toml: {error}"))?;
        let missing = |key: &str| {
            format!("{name}/example.toml: expected `{key}`, got nothing or another type")
        };
        let rust_only: Vec<_> = match table.get("rust-only").map(Value::as_array) {
            None => Vec::new(),
            Some(names) => {
                let names = names.ok_or_else(|| missing("rust-only"))?.iter();
                names.filter_map(Value::as_str).collect()
            }
        };
        let program = |key: &str| {
            let called = table
                .get(key)
                .and_then(Value::as_str)
                .ok_or_else(|| missing(key))?;
            let key = format!("{key}-prints");
            let prints = table
                .get(&key)
                .and_then(Value::as_array)
                .ok_or_else(|| missing(&key))?;
            let lines: Option<Vec<_>> = prints
                .iter()
                .map(|line| line.as_str().map(str::to_owned))
                .collect();
            Ok::<_, String>(Program {
                name: called.to_owned(),
                is_rust_only: rust_only.contains(&called),
                prints: lines.ok_or_else(|| missing(&key))?,
            })
        };
        let hub = table
            .get("hub")
            .and_then(Value::as_bool)
            .ok_or_else(|| missing("hub"))?;
        let durable = table.get("durable").and_then(Value::as_str);
        let gateway = table.get("gateway").and_then(Value::as_bool);
        Ok(Self {
            name: name.to_owned(),
            first: program("first")?,
            second: program("second")?,
            hub,
            durable: durable.map(str::to_owned),
            gateway: gateway.unwrap_or(false),
        })
    }

    /// Returns true if both programs have a twin in C++.
    fn has_cpp(&self) -> bool {
        let twin = |program: &Program| self.folder().join(&program.name).with_extension("cpp");
        twin(&self.first).exists() && twin(&self.second).exists()
    }

    /// The name of the contract, which is the only one.
    fn contract(&self) -> String {
        let mut names = names_in(&self.folder()).into_iter();
        let contract = names.find_map(|name| name.strip_suffix(".ice").map(str::to_owned));
        contract.expect("an example has a contract")
    }

    fn folder(&self) -> PathBuf {
        workspace::root().join("examples").join(&self.name)
    }

    fn run(&self, first_language: &Language, second_language: &Language) {
        let hub = self.hub.then(|| RunningHub::start(self.durable.as_deref()));
        let hub_endpoint = hub.as_ref().map(RunningHub::endpoint);
        let listen = hub_endpoint
            .clone()
            .unwrap_or_else(|| "tcp -h 127.0.0.1 -p 0".to_owned());
        let gateway = self.gateway.then(|| Router::start_toml(GATEWAY));
        let folder = Data::unique("example-files");
        fs::create_dir_all(folder.path()).expect("the target folder can be written");
        let mut first = self.start(&self.first, first_language, &[&listen], &folder);
        let proxy = first.ready();
        let server = hub_endpoint.unwrap_or(proxy);
        let mut arguments = vec![server.as_str()];
        arguments.extend(gateway.as_ref().map(Router::proxy));
        let second = self.start(&self.second, second_language, &arguments, &folder);
        let printed = second.succeed();
        assert_in_order(
            &format!("{} {}", self.name, self.second.name),
            &self.second.prints,
            &printed,
        );
        for line in &self.first.prints {
            while !matches(line, &first.line()) {}
        }
    }

    fn start(
        &self,
        program: &Program,
        language: &Language,
        arguments: &[&str],
        folder: &Data,
    ) -> Peer {
        let mut command = match language {
            Language::Rust => Command::new(workspace::program(&format!(
                "{}-{}",
                self.name, program.name
            ))),
            Language::Python(interpreter) => {
                let mut command = Command::new(interpreter);
                command.arg(self.folder().join(&program.name).with_extension("py"));
                command
            }
            Language::Cpp(ice) => {
                Command::new(ice.example(&self.name, &self.contract(), &program.name))
            }
        };
        Peer::start(
            &format!("{} {} in {language:?}", self.name, program.name),
            command.args(arguments).current_dir(folder.path()),
        )
    }
}

/// The hub of an example.
enum RunningHub {
    Transient(Hub),
    /// With its endpoint, and its folder, which is removed at the end.
    Durable(
        #[expect(dead_code, reason = "it runs")] Peer,
        String,
        #[expect(dead_code, reason = "it stays")] Data,
    ),
}

impl RunningHub {
    fn start(durable: Option<&str>) -> Self {
        let Some(topic) = durable else {
            return Self::Transient(Hub::start(&[]));
        };
        let data = Data::unique("example");
        let (hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
        let mut create = Command::new(workspace::program("floe"));
        create.args(["topic", "create", topic, "--durable", "--hub", &manager]);
        Peer::start("floe topic create", &mut create).succeed();
        let endpoint = manager.split_once(':').expect("an endpoint").1.to_owned();
        Self::Durable(hub, endpoint, data)
    }

    fn endpoint(&self) -> String {
        match self {
            Self::Transient(hub) => hub.endpoint().to_owned(),
            Self::Durable(_, endpoint, _) => endpoint.clone(),
        }
    }
}

/// A gateway that lets everybody in, on free ports.
const GATEWAY: &str = "hub = false\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\n\
                       server-listen = \"tcp -h 127.0.0.1 -p 0\"\nverifier = \"accept-all\"\n";

/// All examples; there are some.
fn examples() -> Vec<Example> {
    let folder = workspace::root().join("examples");
    let mut names = names_in(&folder);
    // The programs of `worlds` are not of Floe and Ice alone: `interop/bridges` runs them.
    names.retain(|name| folder.join(name).is_dir() && name != "worlds");
    assert!(
        !names.is_empty(),
        "expected examples in {}",
        folder.display()
    );
    let read = |name: &String| {
        let path = folder.join(name).join("example.toml");
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Example::parse(name, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    names.iter().map(read).collect()
}

fn names_in(folder: &std::path::Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn assert_in_order(who: &str, expected: &[String], printed: &[String]) {
    let mut lines = printed.iter();
    for pattern in expected {
        let found = lines.any(|line| matches(pattern, line));
        assert!(
            found,
            "{who}: expected the line `{pattern}`, in the order {expected:#?}, got {printed:#?}"
        );
    }
}

/// Returns true if `line` is what `pattern` says, in which `*` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == line,
        Some((head, tail)) => line.strip_prefix(head).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| matches(tail, &rest[at..]))
        }),
    }
}

#[test]
fn a_star_stands_for_any_text() {
    assert!(matches("a*c*", "abcd") && matches("*", "") && matches("a", "a"));
    assert!(!matches("a*c", "abcd") && !matches("a", "ab") && !matches("b*", "ab"));
}

#[test]
#[should_panic(expected = "expected the line `b`")]
fn a_line_out_of_order_is_missed() {
    let lines = ["b", "a"].map(str::to_owned);
    assert_in_order("a program", &["a", "b"].map(str::to_owned), &lines);
}

#[test]
fn an_incomplete_description_is_refused_by_the_name_of_its_key() {
    let text = "first = \"server\"\nfirst-prints = []\nsecond = \"client\"\nhub = false";
    let error = Example::parse("greeter", text).expect_err("second-prints is missing");
    assert!(
        error.contains("`second-prints`") && error.contains("greeter/example.toml"),
        "{error}"
    );
    assert!(Example::parse("greeter", &format!("{text}\nsecond-prints = [\"a\"]")).is_ok());
}
