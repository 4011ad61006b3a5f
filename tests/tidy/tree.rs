//! The files of the repository, as the rules see them.

use std::fs;
use std::path::Path;

use floe_tests::workspace;

/// A file: its path from the root, with `/`, and its text.
pub(crate) struct File {
    /// Such as `crates/wire/src/lib.rs`.
    pub(crate) path: String,
    /// Bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
}

impl File {
    #[cfg(test)]
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Returns true if this is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// All files, without what is built or found, sorted by path.
pub(crate) fn read() -> Vec<File> {
    let mut files = Vec::new();
    collect(workspace::root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("folders of the repository can be listed") {
        let entry = entry.expect("folders of the repository can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, kind) = (
            format!("{prefix}{name}"),
            entry.file_type().expect("an entry has a type"),
        );
        if BUILT.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).expect("files of the repository can be read");
            files.push(File {
                path,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
}

/// Files and folders that are not written by hand. `.git` is a folder, or a file in another working tree of a
/// repository.
const BUILT: [&str; 7] = [
    ".git",
    ".venv",
    "__pycache__",
    "artifacts",
    "coverage",
    "node_modules",
    "target",
];
