//! Code that a document shows: it stands word for word in the file that the text before it links to.

use crate::tree::File;

/// Blocks of code that are not in the file that they are from: in the README the one linked before them, on any page
/// the one that a comment in front of them names (`<!-- snippet: from PATH -->`).
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let quoted = pages.flat_map(|page| quotations(page, files));
    quoted.chain(linked(files)).collect()
}

/// Blocks below a comment that names their file.
fn quotations(page: &File, files: &[File]) -> Vec<String> {
    let lines: Vec<&str> = page.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let path = line.strip_prefix("<!-- snippet: from ");
        let Some(path) = path.and_then(|path| path.strip_suffix(" -->")) else {
            continue;
        };
        let code = lines[index + 1..].iter();
        let code = code.skip_while(|line| !line.starts_with("```")).skip(1);
        let code: Vec<&str> = code.copied().take_while(|line| *line != "```").collect();
        let source = files.iter().find(|file| file.path == path);
        if !source.is_some_and(|file| file.text.contains(&code.join("\n"))) {
            found.push(format!(
                "{}:{}: expected code from {path}, got other text than that has",
                page.path,
                index + 1
            ));
        }
    }
    found
}

fn linked(files: &[File]) -> Vec<String> {
    let Some(readme) = files.iter().find(|file| file.path == "README.md") else {
        return vec!["README.md: expected one, got none".to_owned()];
    };
    let mut found = Vec::new();
    for block in blocks(&readme.text) {
        let source = block
            .source
            .and_then(|path| files.iter().find(|file| file.path == path));
        let is_there = source.is_some_and(|file| file.text.contains(&block.code));
        if !is_there {
            found.push(format!(
                "README.md:{}: expected code from the file linked before it, got other text than {} has",
                block.line,
                block.source.unwrap_or("no file")
            ));
        }
    }
    found
}

/// A block of code, and the file that the paragraph before it links to.
struct Block<'a> {
    line: usize,
    source: Option<&'a str>,
    code: String,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut source = None;
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line.contains("](") {
            source = last_link(line);
        }
        if line == "```rust" || line == "```slice" {
            let code = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```");
            let code = code.collect::<Vec<_>>().join("\n");
            blocks.push(Block {
                line: at + 1,
                source,
                code,
            });
        }
    }
    blocks
}

/// Where the last link of a line leads.
fn last_link(line: &str) -> Option<&str> {
    line.rsplit_once("](")?.1.split(')').next()
}

#[cfg(test)]
mod tests {
    use super::findings;
    use crate::tree::File;

    const README: &str = "A client ([a.rs](a.rs)):\n\n```rust\nlet a = 1;\nlet b = 2;\n```\n";

    #[test]
    fn code_that_stands_in_its_file_is_fine() {
        let files = [
            File::new("README.md", README),
            File::new("a.rs", "fn main() {\nlet a = 1;\nlet b = 2;\n}\n"),
        ];
        assert!(findings(&files).is_empty());
    }

    #[test]
    fn code_that_a_comment_says_is_from_a_file_stands_there() {
        let page = "<!-- snippet: from a.rs -->\n```rust\n    let a = 1;\n```\n";
        let files = |code| {
            [
                File::new("README.md", ""),
                File::new("docs/guides/a.md", page),
                File::new("a.rs", code),
            ]
        };
        assert!(findings(&files("fn main() {\n    let a = 1;\n}\n")).is_empty());
        let found = findings(&files("fn main() {}\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("docs/guides/a.md:1: "), "{found:?}");
    }

    #[test]
    fn code_that_its_file_does_not_have_is_found() {
        let files = [
            File::new("README.md", README),
            File::new("a.rs", "fn main() {\nlet a = 1;\n}\n"),
        ];
        let found = findings(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("README.md:3: "), "{found:?}");
    }
}
