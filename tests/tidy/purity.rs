//! Purity: no async, sockets, files, threads or clocks in the pure crates and in every `core/` folder.
//!
//! What Floe decides is written there, and can be tested exhaustively only as long as nothing else answers.

use crate::code;
use crate::tree::File;

/// Names in pure code that it must not use.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter_map(|file| Some((file, purity(&file.path)?)))
        .flat_map(check)
        .collect()
}

/// How pure a file must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purity {
    /// No async and nothing of the world.
    Full,
    /// Nothing of the world; it writes code that is async, so the words occur.
    WritesAsync,
}

fn purity(path: &str) -> Option<Purity> {
    let inside = |folder: &str| path.starts_with(folder);
    let is_test = path.ends_with("/tests.rs") || path.contains("/src/") && path.contains("/tests/");
    let is_core = inside("crates/") && path.contains("/src/core/");
    if !path.ends_with(".rs") || is_test || SHELLS.contains(&path) {
        None
    } else if PURE_FOLDERS.iter().any(|folder| inside(folder)) || is_core {
        Some(Purity::Full)
    } else {
        inside("crates/codegen/src/").then_some(Purity::WritesAsync)
    }
}

fn check((file, purity): (&File, Purity)) -> Vec<String> {
    let code = code::only(&file.text);
    let async_words = if purity == Purity::Full {
        &ASYNC[..]
    } else {
        &[]
    };
    let words = WORLD.iter().chain(async_words).flat_map(|words| {
        code::lines_with(&code, words)
            .into_iter()
            .map(move |line| (line, (*words).to_owned()))
    });
    let mut hits: Vec<_> = words.chain(grouped_imports(&code)).collect();
    hits.sort();
    hits.into_iter()
        .map(|(line, what)| finding(&file.path, line, &what))
        .collect()
}

fn finding(path: &str, line: usize, what: &str) -> String {
    format!(
        "{path}:{line}: expected pure code, got `{what}`; take bytes and times as arguments, or move it to a shell"
    )
}

/// Modules of the world that are imported as part of a group, as in `use std::{fs, io}`.
fn grouped_imports(code: &str) -> Vec<(usize, String)> {
    let groups = code.match_indices("use std::{").map(|(at, _)| {
        let end = code[at..].find(';').map_or(code.len(), |len| at + len);
        (code::line_at(code, at), &code[at..end])
    });
    let modules = groups.flat_map(|(line, group)| {
        STD_MODULES
            .iter()
            .filter(|module| !code::lines_with(group, module).is_empty())
            .map(move |m| (line, m))
    });
    modules
        .map(|(line, module)| (line, format!("std::{{{module}}}")))
        .collect()
}

/// The files of `codegen` that read and write files, for build scripts and the command, and the one that
/// runs pure work on threads.
const SHELLS: [&str; 3] = [
    "crates/codegen/src/build_script.rs",
    "crates/codegen/src/files.rs",
    "crates/codegen/src/threads.rs",
];

const PURE_FOLDERS: [&str; 7] = [
    "crates/access/src/",
    "crates/giop/src/",
    "crates/rtps/src/",
    "crates/amqp/src/",
    "crates/wire/src/",
    "crates/slice/src/",
    "crates/dynamic/src/",
];

const ASYNC: [&str; 3] = ["async", ".await", "Future"];

const WORLD: [&str; 13] = [
    "tokio",
    "std::net",
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::os",
    "Instant::now",
    "SystemTime",
    "TcpStream",
    "UdpSocket",
    "thread::sleep",
    "thread::spawn",
];

const STD_MODULES: [&str; 6] = ["net", "fs", "env", "process", "thread", "os"];

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_in(path: &str, text: &str) -> Vec<String> {
        findings(&[File::new(path, text)])
    }

    #[test]
    fn each_word_of_the_world_is_found_in_wire() {
        for words in WORLD.iter().chain(&ASYNC) {
            let found = findings_in("crates/wire/src/x.rs", &format!("//! X.\n{words} ();"));
            assert!(
                found
                    .iter()
                    .any(|f| f.starts_with("crates/wire/src/x.rs:2: ")),
                "{words}: {found:?}"
            );
        }
    }

    #[test]
    fn every_pure_place_is_watched() {
        let paths = [
            "crates/wire/src/x.rs",
            "crates/giop/src/x.rs",
            "crates/slice/src/parse/x.rs",
            "crates/dynamic/src/x.rs",
            "crates/codegen/src/rust/x.rs",
            "crates/hub/src/core/x.rs",
            "crates/gateway/src/core/deep/x.rs",
        ];
        for path in paths {
            assert_eq!(findings_in(path, "use tokio::net;").len(), 1, "{path}");
        }
    }

    #[test]
    fn grouped_imports_do_not_hide() {
        let found = findings_in(
            "crates/slice/src/x.rs",
            "use std::{\n    collections::HashMap,\n    fs,\n};",
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("std::{fs}"), "{found:?}");
    }

    #[test]
    fn comments_texts_and_tests_may_speak_of_the_world() {
        let text = "// tokio\nconst A: &str = \"tokio\";\n#[cfg(test)]\nmod tests { use std::fs; }";
        assert_eq!(findings_in("crates/wire/src/x.rs", text), [""; 0]);
        assert_eq!(
            findings_in("crates/wire/src/x/tests.rs", "use std::fs;"),
            [""; 0]
        );
    }

    #[test]
    fn shells_are_free_and_the_code_generator_may_write_async() {
        assert_eq!(
            findings_in("crates/runtime/src/x.rs", "use tokio::net;"),
            [""; 0]
        );
        assert_eq!(
            findings_in("crates/codegen/src/build_script.rs", "use std::fs;"),
            [""; 0]
        );
        assert_eq!(
            findings_in("crates/codegen/src/rust/x.rs", "quote!(async fn a() {})"),
            [""; 0]
        );
        assert_eq!(
            findings_in("crates/codegen/src/rust/x.rs", "use std::fs;").len(),
            1
        );
    }
}
