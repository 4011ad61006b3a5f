//! Code that a document shows: it stands word for word in the file that the text before it links to.

use crate::tree::File;

/// Blocks of code in the README that are not in the file linked before them.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
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
