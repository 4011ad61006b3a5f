//! Words that readers stumbled over: texts for users do not use them again, and no doc comment opens with them.

use crate::tree::File;

/// Lines with such words.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let openings = files.iter().filter(|file| is_held(file));
    let openings = openings.flat_map(openings_in);
    riddles(files).into_iter().chain(openings).collect()
}

/// Doc comments whose subject does not come first.
fn openings_in(file: &File) -> Vec<String> {
    let mut is_in_doc = false;
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("/// ")
            .or_else(|| line.strip_prefix("//! "));
        // A question that a scenario answers begins so.
        if let Some(doc) = doc.filter(|doc| !is_in_doc && !doc.ends_with('?'))
            && let Some(opening) = OPENINGS.iter().find(|opening| doc.starts_with(**opening))
        {
            let path = &file.path;
            findings.push(format!(
                "{path}:{}: expected a sentence whose subject comes first, such as \"Returns true if …\" or \"The \
                 kind of …\", got one that opens with {opening:?}",
                at + 1
            ));
        }
        is_in_doc = line.starts_with("///") || line.starts_with("//!");
    }
    findings
}

/// Such openings make a reader guess the subject.
const OPENINGS: [&str; 6] = ["What ", "Who ", "Whom ", "Whose ", "Whether ", "The same "];

/// Returns true for Rust source that is not generated.
fn is_held(file: &File) -> bool {
    let is_generated = |folder| file.path.contains(folder);
    file.is_rust() && !["/expected/", "/contracts/"].into_iter().any(is_generated)
}

/// Lines of texts for users with such words.
fn riddles(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| is_for_users(&file.path))
        .flat_map(|file| {
            let lines = file.text.lines().enumerate();
            lines.flat_map(move |(at, line)| {
                let used = RIDDLES
                    .iter()
                    .filter(move |(riddle, _)| line.contains(riddle));
                used.map(move |(riddle, plain)| {
                    let path = &file.path;
                    format!(
                        "{path}:{}: expected plain words, such as {plain:?}, got {riddle:?}",
                        at + 1
                    )
                })
            })
        })
        .collect()
}

/// Documents of the past, and the rules themselves, may quote them.
fn is_for_users(path: &str) -> bool {
    let may_quote = [
        "docs/adr/",
        "tests/tidy/",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ];
    !may_quote.iter().any(|prefix| path.starts_with(prefix))
}

/// Phrases that were hard to read, with plain ones.
const RIDDLES: [(&str, &str); 8] = [
    (
        "Whom the locator",
        "If the locator does not know the object",
    ),
    (
        "kept the settings as they were",
        "the current settings stay in force",
    ),
    (
        "before which each option",
        "command-line options override the file, one by one",
    ),
    (
        "What a full queue does",
        "Each subscriber chooses its overflow policy",
    ),
    ("a gap is told", "gaps are reported in order"),
    ("for there were too many", "because a limit was reached"),
    ("the file makes no sense", "the file is invalid"),
    ("went under with", "was lost with"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_riddle_is_found_in_a_text_for_users() {
        let text = "first\nConnections refused, for there were too many\n";
        let found = findings(&[
            File::new("docs/guides/a.md", text),
            File::new("docs/adr/a.md", text),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("docs/guides/a.md:2: "), "{found:?}");
    }

    #[test]
    fn a_doc_comment_that_does_not_begin_with_its_subject_is_found() {
        let text =
            "//! The file.\n\n    /// Whether it is.\n    /// What follows.\n// What it is.\n";
        let found = findings(&[
            File::new("crates/wire/src/a.rs", text),
            File::new("docs/guides/a.md", text),
            File::new("crates/runtime/src/contracts/a.rs", text),
            File::new("lab/src/scenario/a.rs", "//! What does it cost?\n"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("crates/wire/src/a.rs:3: "),
            "{found:?}"
        );
    }
}
