//! The blocks of Rust in the documents, each as a module. `snippets/main.rs` compiles them, and tests the rules that are here.
//!
//! A block whose first line names a file (`// src/main.rs`) is a file. Any other block is the body of an async function. A
//! comment in front of it names the values that it uses and does not make, of those in [`GIVEN`]:
//!
//! ````text
//! <!-- snippet: topic, qos -->
//! ```rust
//! let events = topic.subscribe::<TickerEvent>().qos(qos).await?;
//! ```
//! ````
//!
//! With `spawned` among them, the future of the function must be `Send`, as in a task that is spawned or in a servant.
//! `<!-- snippet: returns TYPE -->` is for a block that fails with that type. A block that stands word for word in a file that is compiled has
//! `<!-- snippet: from PATH -->` (`tidy/shown.rs` compares them). A block that cannot compile is `rust,ignore` and has
//! `<!-- snippet: not compiled: REASON -->`. The modules use the names of `snippets/given.rs`.

use std::fmt::Write;

/// The values that a block may use, with their types.
const GIVEN: &[(&str, &str)] = &[
    ("arm", "ArmProxy"),
    ("arms", "Vec<ArmProxy>"),
    ("communicator", "Communicator"),
    ("greeter", "GreeterProxy"),
    ("names", "Vec<String>"),
    ("qos", "Qos"),
    ("router", "floe::contracts::glacier2::RouterProxy"),
    ("sensor", "Proxy"),
    ("table", "rusqlite::Connection"),
    ("topic", "Topic"),
];

/// The fate of a block.
#[derive(Debug, PartialEq)]
pub(crate) enum Use {
    /// It is compiled: the text of its module, in which each of its lines has the number that it has on its page.
    Module(String),
    /// It stands in this file, which is compiled.
    From(String),
    /// It is not compiled, for this reason.
    NotCompiled(String),
    /// It breaks a rule.
    Wrong(String),
}

/// A block of Rust.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The number of its first line of code.
    pub(crate) line: usize,
    /// The file that its first line names, without folders and ending.
    pub(crate) file: Option<String>,
    pub(crate) r#use: Use,
}

/// The blocks of Rust on a page.
pub(crate) fn snippets(page: &str) -> Vec<Snippet> {
    let mut snippets = Vec::new();
    let mut comment = None;
    let mut lines = (1..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        let text = line.trim_start();
        let Some(language) = text.strip_prefix("```") else {
            let inner = text.strip_prefix("<!-- snippet: ");
            match inner.and_then(|text| text.strip_suffix(" -->")) {
                None if text.is_empty() => {}
                given => comment = given,
            }
            continue;
        };
        let indent = line.len() - text.len();
        let code = lines.by_ref().map(|(_, line)| line);
        let code = code.take_while(|line| line.trim() != "```");
        let code: Vec<&str> = code
            .map(|line| line.get(indent..).unwrap_or_default())
            .collect();
        let comment = comment.take().unwrap_or_default();
        if language.split(',').next() == Some("rust") {
            snippets.push(snippet(number + 1, language, comment, &code));
        }
    }
    snippets
}

fn snippet(line: usize, language: &str, comment: &str, code: &[&str]) -> Snippet {
    let file = code.first().and_then(|first| file_name(first));
    let r#use = if let Some(reason) = comment.strip_prefix("not compiled: ") {
        Use::NotCompiled(reason.to_owned())
    } else if language != "rust" {
        let expected = "expected `rust`, or the comment `snippet: not compiled: REASON`";
        Use::Wrong(format!("{expected}, got `{language}`"))
    } else if let Some(path) = comment.strip_prefix("from ") {
        Use::From(path.to_owned())
    } else if file.is_some() {
        Use::Module(at(line, USES, &code.join("\n"), ""))
    } else {
        body(line, comment, code)
    };
    Snippet { line, file, r#use }
}

/// A block as the body of a function.
fn body(line: usize, comment: &str, code: &[&str]) -> Use {
    let mut parameters = String::new();
    let mut error = "Box<dyn std::error::Error + Send + Sync>";
    let mut is_spawned = false;
    for part in comment.split(", ").filter(|part| !part.is_empty()) {
        if let Some(r#type) = part.strip_prefix("returns ") {
            error = r#type;
            continue;
        }
        if part == "spawned" {
            is_spawned = true;
            continue;
        }
        let Some((name, r#type)) = GIVEN.iter().find(|(name, _)| *name == part) else {
            let known: Vec<&str> = GIVEN.iter().map(|(name, _)| *name).collect();
            let known = known.join(", ");
            return Use::Wrong(format!("expected a value of {known}, got `{part}`"));
        };
        let _ = write!(parameters, "mut {name}: {type}, ");
    }
    let results = format!("Result<(), {error}>");
    let (head, end) = match is_spawned {
        false => (
            format!("async fn snippet({parameters}) -> {results} {{"),
            "Ok(())\n}\n",
        ),
        true => {
            let future = format!("impl Future<Output = {results}> + Send");
            let head = format!("fn snippet({parameters}) -> {future} {{ async move {{");
            (head, "Ok(())\n}}\n")
        }
    };
    Use::Module(at(line, &format!("{USES} {head}"), &code.join("\n"), end))
}

/// Code that begins at a line, behind a first line and in front of an end.
fn at(line: usize, head: &str, code: &str, end: &str) -> String {
    let gap = "\n".repeat(line - 1);
    format!("{head}{gap}{code}\n{end}")
}

/// The name of a file that a line names, without folders and ending.
fn file_name(line: &str) -> Option<String> {
    let path = line.strip_prefix("// ")?.strip_suffix(".rs")?;
    let name = path.rsplit('/').next()?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    name.chars().all(is_name).then(|| name.replace('-', "_"))
}

const USES: &str = "use crate::given::*;";
