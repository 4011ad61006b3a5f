//! Tests that the guide to interop and the list of mistakes name: each is there.

use crate::tree::File;

/// Names of tests in these texts that are in none of the files that they may mean.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let found = TEXTS.iter().flat_map(|text| text.findings(files));
    found.collect()
}

/// A text that names tests, as `file.rs::test` or `file.rs` between backticks.
struct Text {
    path: &'static str,
    /// Where its files may be.
    folders: [&'static str; 2],
}

impl Text {
    fn findings(&self, files: &[File]) -> Vec<String> {
        let path = self.path;
        let Some(text) = files.iter().find(|file| file.path == path) else {
            return vec![format!("{path}: expected one, got none")];
        };
        let lines = text.text.lines().enumerate();
        let names = lines.flat_map(|(at, line)| quoted(line).map(move |name| (at + 1, name)));
        names
            .filter(|(_, name)| name.contains(".rs") && !self.is_there(files, name))
            .map(|(line, name)| {
                format!(
                    "{path}:{line}: expected the name of a test, got `{name}`, which is nowhere"
                )
            })
            .collect()
    }

    fn is_there(&self, files: &[File], name: &str) -> bool {
        let (path, test) = name.split_once("::").unwrap_or((name, ""));
        let paths = self.folders.map(|folder| format!("{folder}{path}"));
        let mut candidates = files.iter().filter(|file| paths.contains(&file.path));
        candidates.any(|file| test.is_empty() || file.text.contains(&format!("fn {test}(")))
    }
}

/// Returns the texts between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

const TEXTS: [Text; 2] = [
    Text {
        path: "docs/guides/interop.md",
        folders: ["tests/interop/ice/", "crates/runtime/tests/capabilities/"],
    },
    Text {
        path: "crates/cli/tests/capabilities/mistakes.rs",
        folders: ["crates/cli/tests/capabilities/", ""],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(guide: &str) -> Vec<String> {
        let test = File::new("tests/interop/ice/a.rs", "fn it_works() {}");
        TEXTS[0].findings(&[File::new(TEXTS[0].path, guide), test])
    }

    #[test]
    fn a_test_that_is_there_is_fine() {
        assert!(found("`a.rs::it_works`, `a.rs`, `Ice.ACM`").is_empty());
    }

    #[test]
    fn a_test_or_file_that_is_not_there_is_found() {
        let found = found("\n`a.rs::it_fails`, `b.rs`");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("docs/guides/interop.md:2: "),
            "{found:?}"
        );
    }
}
