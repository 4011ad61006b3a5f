//! The manifests of crates that are published: each tells a registry and docs.rs what it is.

use crate::tree::File;

/// Lines that a published crate lacks in its manifest, and crates without a README of their own.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let published = files.iter().filter(|file| is_published(file));
    published.flat_map(|file| lacks(file, files)).collect()
}

/// Returns true for the manifest of a crate whose name users type. Its folder is `lab` or below `crates`.
fn is_published(file: &File) -> bool {
    let is_crate = file.path.starts_with("crates/") && file.path.split('/').count() == 3;
    (is_crate || file.path.starts_with("lab/C"))
        && file.path.ends_with("/Cargo.toml")
        && !file.text.contains("publish = false")
}

fn lacks(file: &File, files: &[File]) -> Vec<String> {
    let package = file.text.split("\n[").next().unwrap_or_default();
    let lacks = |key: &&&str| !package.lines().any(|line| line.starts_with(**key));
    let mut found: Vec<String> = KEYS
        .iter()
        .filter(lacks)
        .map(|key| {
            format!(
                "{}: expected `{key}` in [package] of a published crate",
                file.path
            )
        })
        .collect();
    let readme = file.path.replace("Cargo.toml", "README.md");
    if !files.iter().any(|other| other.path == readme) {
        found.push(format!(
            "{readme}: expected a README for the page of the crate, got none"
        ));
    }
    let paths = file.text.lines().filter(|line| {
        line.contains("path = \"..") && !line.contains("version") && !line.contains("floe-tests")
    });
    found.extend(paths.map(|line| {
        format!(
            "{}: expected a version beside the path in `{line}`",
            file.path
        )
    }));
    found
}

const KEYS: [&str; 7] = [
    "description = ",
    "keywords = ",
    "categories = ",
    "readme = ",
    "license",
    "repository",
    "rust-version",
];

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\ndescription = \"x\"\nkeywords = []\ncategories = []\nreadme = \"README.md\"\n\
                        license.workspace = true\nrepository.workspace = true\nrust-version.workspace = true\n";

    fn found(manifest: &str) -> Vec<String> {
        findings(&[
            File::new("crates/a/Cargo.toml", manifest),
            File::new("crates/a/README.md", "# a"),
        ])
    }

    #[test]
    fn a_published_crate_says_what_it_is() {
        assert!(found(GOOD).is_empty());
        let without = found(&GOOD.replace("keywords = []\n", ""));
        assert_eq!(
            without,
            ["crates/a/Cargo.toml: expected `keywords = ` in [package] of a published crate"]
        );
        let elsewhere = format!(
            "{}[package.metadata]\nkeywords = []\n",
            GOOD.replace("keywords = []\n", "")
        );
        assert_eq!(found(&elsewhere).len(), 1);
        assert!(found("[package]\npublish = false\n").is_empty());
    }

    #[test]
    fn a_crate_without_a_page_or_with_a_bare_path_is_found() {
        let alone = findings(&[File::new("crates/a/Cargo.toml", GOOD)]);
        assert!(alone[0].starts_with("crates/a/README.md: "), "{alone:?}");
        let bare = format!("{GOOD}\n[dependencies]\nb = {{ path = \"../b\" }}\n");
        assert!(
            found(&bare)[0].contains("expected a version"),
            "{:?}",
            found(&bare)
        );
    }
}
