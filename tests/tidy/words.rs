//! Words that readers stumbled over: texts for users do not use them again.

use crate::tree::File;

/// Lines with such words.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
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

/// What was hard to read, and what says the same.
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
}
