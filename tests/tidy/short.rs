//! Programs that stay short: what a newcomer has to write fits in a few lines.

use crate::tree::File;

/// Programs with more lines of code than they may have.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let found = LINES_MAX.iter().filter_map(|(path, lines_max)| {
        let Some(file) = files.iter().find(|file| file.path == *path) else {
            return Some(format!("{path}: expected one, got none"));
        };
        let count = lines(&file.text);
        (count > *lines_max)
            .then(|| format!("{path}: expected at most {lines_max} lines of code, got {count}"))
    });
    found.collect()
}

/// Lines of code: all but blank lines, lines that are only a comment, and lines that only import.
fn lines(text: &str) -> usize {
    let lines = text.lines().map(str::trim);
    let code = lines
        .filter(|line| !(line.is_empty() || line.starts_with("//") || line.starts_with("use ")));
    code.count()
}

const LINES_MAX: [(&str, usize); 2] = [
    ("examples/ticker/src/bin/ticker-publisher.rs", 12),
    ("examples/ticker/src/bin/ticker-subscriber.rs", 12),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_comments_and_imports_are_no_code() {
        let text = "//! Doc.\n\nuse a::B;\n\nfn main() {\n    // Why.\n    f(); // Here.\n}\n";
        assert_eq!(lines(text), 3);
    }

    #[test]
    fn a_program_with_too_many_lines_is_found() {
        let of = |count| {
            let files = LINES_MAX.map(|(path, _)| File::new(path, &"f();\n".repeat(count)));
            findings(&files)
        };
        assert!(of(12).is_empty());
        let found = of(13);
        assert!(
            found[0].ends_with("at most 12 lines of code, got 13"),
            "{found:?}"
        );
        assert_eq!(findings(&[]).len(), 2);
    }
}
