//! Tests that the guide to interop names: each is there.

use crate::tree::File;

/// Names of tests in the guide that are in none of the files that it may mean.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let Some(guide) = files.iter().find(|file| file.path == GUIDE) else {
        return vec![format!("{GUIDE}: expected one, got none")];
    };
    let lines = guide.text.lines().enumerate();
    let names = lines.flat_map(|(at, line)| quoted(line).map(move |name| (at + 1, name)));
    names
        .filter(|(_, name)| name.contains(".rs") && !is_there(files, name))
        .map(|(line, name)| {
            format!("{GUIDE}:{line}: expected the name of a test, got `{name}`, which is nowhere")
        })
        .collect()
}

/// What stands between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_there(files: &[File], name: &str) -> bool {
    let (path, test) = name.split_once("::").unwrap_or((name, ""));
    let paths = FOLDERS.map(|folder| format!("{folder}/{path}"));
    let mut candidates = files.iter().filter(|file| paths.contains(&file.path));
    candidates.any(|file| test.is_empty() || file.text.contains(&format!("fn {test}(")))
}

const GUIDE: &str = "docs/guides/interop.md";
const FOLDERS: [&str; 2] = ["tests/interop/ice", "crates/runtime/tests/capabilities"];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(guide: &str) -> Vec<String> {
        let test = File::new("tests/interop/ice/a.rs", "fn it_works() {}");
        findings(&[File::new(GUIDE, guide), test])
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
