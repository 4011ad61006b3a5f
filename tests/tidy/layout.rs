//! The shape of single files: docs at the head, maps without logic, examples listed, no place outside named.

use std::collections::BTreeSet;

use crate::code;
use crate::tree::File;

/// Rust files that do not open with `//!`.
pub(crate) fn files_without_docs(files: &[File]) -> Vec<String> {
    let silent = files
        .iter()
        .filter(|file| file.is_rust() && !file.text.starts_with("//!"));
    silent
        .map(|file| {
            format!(
                "{}:1: expected `//!` and what lives here, got code",
                file.path
            )
        })
        .collect()
}

/// `lib.rs` files that define something instead of naming where it is.
pub(crate) fn maps_with_logic(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path.ends_with("src/lib.rs"))
        .flat_map(logic_in_map)
        .collect()
}

fn logic_in_map(file: &File) -> Vec<String> {
    let code = code::only(&file.text);
    let hits = DEFINITIONS.iter().flat_map(|word| {
        code::lines_with(&code, word)
            .into_iter()
            .map(move |line| (line, word))
    });
    hits.map(|(line, word)| {
        format!(
            "{}:{line}: expected only `mod` and `use` in a map, got `{word}`; give it a file",
            file.path
        )
    })
    .collect()
}

/// Folders of `examples/` that the README does not mention.
pub(crate) fn unlisted_examples(files: &[File]) -> Vec<String> {
    let readme = files
        .iter()
        .find(|file| file.path == "README.md")
        .map_or("", |file| file.text.as_str());
    let in_folder = files
        .iter()
        .filter_map(|file| file.path.strip_prefix("examples/")?.split_once('/'));
    let examples: BTreeSet<&str> = in_folder.map(|(example, _)| example).collect();
    let unlisted = examples
        .into_iter()
        .filter(|name| !readme.contains(&format!("examples/{name}")));
    unlisted
        .map(|name| format!("README.md: expected a mention of examples/{name}, got none"))
        .collect()
}

/// Lines that name a folder of one machine, or something beside the repository.
pub(crate) fn foreign_places(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path != "Cargo.lock")
        .flat_map(foreign_places_in)
        .collect()
}

fn foreign_places_in(file: &File) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let hits = lines.filter_map(|(index, line)| Some((index + 1, foreign_place(line)?)));
    hits.map(|(line, place)| {
        format!(
            "{}:{line}: expected nothing outside the repository, got `{place}`",
            file.path
        )
    })
    .collect()
}

fn foreign_place(line: &str) -> Option<&'static str> {
    let starts_path =
        |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.>}".contains(c));
    let is_machine_path =
        |place: &&&str| line.match_indices(**place).any(|(at, _)| starts_path(at));
    let sibling = SIBLINGS.iter().find(|place| line.contains(**place));
    sibling
        .or_else(|| MACHINE_PATHS.iter().find(is_machine_path))
        .copied()
}

/// Words that define something; a re-export needs none of them.
const DEFINITIONS: [&str; 6] = ["fn", "impl", "struct", "enum", "trait", "static"];

// Written in pieces, so that this file does not name what it forbids.
const MACHINE_PATHS: [&str; 4] = [
    concat!("/", "work/"),
    concat!("/", "home/"),
    concat!("/", "root/"),
    concat!("/", "Users/"),
];
const SIBLINGS: [&str; 1] = [concat!("..", "/shared")];

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [&str; 0] = [];

    #[test]
    fn a_rust_file_without_docs_is_found_wherever_it_is() {
        for path in [
            "crates/wire/src/x.rs",
            "examples/a/build.rs",
            "fuzz/fuzz_targets/x.rs",
            "xtask/src/x.rs",
        ] {
            assert_eq!(
                files_without_docs(&[File::new(path, "// Not a doc.\nfn a() {}")]).len(),
                1,
                "{path}"
            );
        }
        assert_eq!(
            files_without_docs(&[File::new("a.rs", "//! A."), File::new("a.py", "x = 1")]),
            NONE
        );
    }

    #[test]
    fn a_definition_in_a_map_is_found() {
        for word in DEFINITIONS {
            let map = File::new(
                "crates/hub/src/lib.rs",
                &format!("//! Hub.\nmod a;\npub {word} B {{}}"),
            );
            let found = maps_with_logic(&[map]);
            assert!(
                found.len() == 1 && found[0].starts_with("crates/hub/src/lib.rs:3: "),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_map_may_show_an_example_in_its_docs_and_re_export() {
        let map = File::new(
            "crates/hub/src/lib.rs",
            "//! ```\n//! fn main() {}\n//! ```\nmod a;\npub use a::B;",
        );
        assert_eq!(maps_with_logic(&[map]), NONE);
        assert_eq!(
            maps_with_logic(&[File::new("crates/hub/src/a.rs", "fn a() {}")]),
            NONE
        );
    }

    #[test]
    fn an_example_that_the_readme_does_not_list_is_found() {
        let readme = File::new("README.md", "see [greeter](examples/greeter)");
        let files = [
            readme,
            File::new("examples/greeter/a.rs", ""),
            File::new("examples/ticker/a.rs", ""),
        ];
        assert_eq!(
            unlisted_examples(&files),
            ["README.md: expected a mention of examples/ticker, got none"]
        );
    }

    #[test]
    fn a_place_of_one_machine_is_found() {
        for place in MACHINE_PATHS.iter().chain(&SIBLINGS) {
            let found = foreign_places(&[File::new("docs/a.md", &format!("one\nsee {place}x"))]);
            assert!(
                found.len() == 1 && found[0].starts_with("docs/a.md:2: "),
                "{place}: {found:?}"
            );
        }
    }

    #[test]
    fn a_folder_of_the_repository_may_have_such_a_name() {
        let inside = format!("docs{}a", MACHINE_PATHS[0]);
        assert_eq!(foreign_places(&[File::new("a.md", &inside)]), NONE);
    }
}
