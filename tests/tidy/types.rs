//! Names of types: no two types of a package share one, so that a name read in one file means the same in the next.

use std::collections::BTreeMap;

use crate::code;
use crate::tree::File;

/// Names that two types of a package have, except those that may be shared.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    PACKAGES
        .iter()
        .flat_map(|package| shared_names(files, package))
        .collect()
}

fn shared_names(files: &[File], package: &str) -> Vec<String> {
    let mut first_places = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_source(&file.path, package)) {
        for (line, name) in types(&code::only(&file.text)) {
            let place = format!("{}:{line}", file.path);
            if SHARED.contains(&(package, name.as_str())) {
                continue;
            }
            match first_places.get(&name) {
                None => {
                    first_places.insert(name, place);
                }
                Some(first) => findings.push(format!(
                    "{place}: expected a name of its own, got `{name}`, which is also a type at {first}"
                )),
            }
        }
    }
    findings
}

/// Returns true if a file holds types of the package that are neither generated nor only for tests.
fn is_source(path: &str, package: &str) -> bool {
    let source = format!("crates/{package}/src/");
    path.strip_prefix(&source).is_some_and(|within| {
        within.ends_with(".rs")
            && !within.starts_with("contracts/")
            && !within
                .split('/')
                .any(|part| part == "tests" || part == "tests.rs")
    })
}

/// The types that a file defines outside of functions and blocks, with their lines.
fn types(code: &str) -> impl Iterator<Item = (usize, String)> {
    code.lines().enumerate().filter_map(|(at, line)| {
        let item = match line.strip_prefix("pub(") {
            Some(restricted) => restricted.split_once(") ")?.1,
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let (kind, rest) = item.split_once(' ')?;
        let name = rest
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()?;
        ["struct", "enum", "trait", "union", "type"]
            .contains(&kind)
            .then(|| (at + 1, name.to_owned()))
    })
}

/// The packages that are held to it.
const PACKAGES: [&str; 5] = ["amqp", "gateway", "hub", "runtime", "wire"];

/// Names that types of a package may share.
const SHARED: &[(&str, &str)] = &[
    // The same for programs without async.
    ("runtime", "Communicator"),
    // The same in builds without TLS.
    ("runtime", "Tls"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| File::new(path, text));
        findings(&files.collect::<Vec<_>>())
    }

    #[test]
    fn two_types_of_a_package_with_one_name_are_found() {
        let found = found(&[
            (
                "crates/wire/src/a.rs",
                "//! A.\n\npub(super) struct Pace<T>(T);\n",
            ),
            ("crates/wire/src/b/c.rs", "enum Pace {}\n"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("crates/wire/src/b/c.rs:1: "),
            "{found:?}"
        );
        assert!(found[0].contains("crates/wire/src/a.rs:3"), "{found:?}");
    }

    #[test]
    fn types_of_other_packages_tests_and_comments_may_share_a_name() {
        let found = found(&[
            ("crates/wire/src/a.rs", "struct Pace;\n// struct Pace;\n"),
            ("crates/wire/src/a/tests.rs", "struct Pace;\n"),
            (
                "crates/wire/src/b.rs",
                "#[cfg(test)]\nmod tests {\n    struct Pace;\n}\n",
            ),
            ("crates/runtime/src/contracts/c.rs", "struct Pace;\n"),
            ("crates/runtime/src/d.rs", "struct Pace;\n"),
            ("crates/runtime/src/e.rs", "pub struct Communicator;\n"),
            ("crates/runtime/src/f.rs", "pub struct Communicator;\n"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
