//! Source texts: how the caller supplies them, and where a span lies in them.
//!
//! Nothing here opens a file: a [`Loader`] of the caller does.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::Span;
use crate::model::FileId;

/// Gives the bytes of a file.
///
/// A file that does not exist must be reported as [`io::ErrorKind::NotFound`]: the search for an
/// included file then goes on in the next directory. Any other error ends the search.
pub trait Loader {
    /// Reads the file at `path`.
    fn load(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The one path that a file has, whichever path leads to it: on disk the absolute path, without links. `None` if it is
    /// unknown; then paths are compared as texts, after `.` and `..` are resolved.
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let _ = path;
        None
    }

    /// A loader that asks `fallback` for what this one does not find.
    fn or<L: Loader>(self, fallback: L) -> ChainLoader<Self, L>
    where
        Self: Sized,
    {
        ChainLoader {
            first: self,
            fallback,
        }
    }
}

impl<L: Loader + ?Sized> Loader for &L {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        (**self).load(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        (**self).canonical(path)
    }
}

impl<L: Loader + ?Sized> Loader for Box<L> {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        (**self).load(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        (**self).canonical(path)
    }
}

/// Files held in memory, by path. Paths are compared after `.` and `..` are resolved in the text.
#[derive(Debug, Clone, Default)]
pub struct MemoryLoader {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl MemoryLoader {
    /// A loader without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or replaces it.
    pub fn insert(&mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> &mut Self {
        self.files.insert(normalize(path.as_ref()), content.into());
        self
    }

    /// Adds a file to the loader.
    pub fn with(mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.insert(path, content);
        self
    }
}

impl Loader for MemoryLoader {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.files.get(&normalize(path));
        found
            .cloned()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file in memory"))
    }

    /// A file in memory has no links: no other loader may take two of them for one.
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let path = normalize(path);
        self.files.contains_key(&path).then_some(path)
    }
}

/// Two loaders, the second asked for what the first does not find; made by [`Loader::or`].
#[derive(Debug, Clone)]
pub struct ChainLoader<A, B> {
    first: A,
    fallback: B,
}

impl<A: Loader, B: Loader> Loader for ChainLoader<A, B> {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match self.first.load(path) {
            // If neither has it, what the first says is what a person understands.
            Err(error) if is_missing(&error) => match self.fallback.load(path) {
                Err(later) if is_missing(&later) => Err(error),
                found => found,
            },
            found => found,
        }
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let first = self.first.canonical(path);
        first.or_else(|| self.fallback.canonical(path))
    }
}

/// The path without `.` and, where the text allows it, without `..`: one key for one file.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut parts: Vec<Component> = Vec::new();
    for component in path.components() {
        match (component, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(component),
        }
    }
    parts.into_iter().collect()
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path as it was opened.
    pub path: PathBuf,
    /// Its text without a byte order mark; spans count the bytes of this.
    pub text: Arc<str>,
    /// The `#include` that opened it first; `None` for a main file.
    pub included_from: Option<Span>,
    line_starts: Vec<usize>,
}

/// All files of a compilation, by [`FileId`].
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// A place as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl SourceMap {
    /// The file with this id.
    ///
    /// # Panics
    /// If the id comes from another compilation.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0]
    }

    /// All files, in the order of their first reading.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The text that a span covers.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .text
            .get(span.start..span.end)
            .unwrap_or("")
    }

    /// Where a span begins.
    pub fn position(&self, span: Span) -> Position {
        self.file(span.file).position(span.start)
    }

    /// The line in which a span begins, from 1.
    pub(crate) fn line_number(&self, span: Span) -> usize {
        let starts = &self.file(span.file).line_starts;
        starts.partition_point(|start| *start <= span.start)
    }

    /// Where a span ends (the place after its last character).
    pub fn end_position(&self, span: Span) -> Position {
        self.file(span.file).position(span.end)
    }

    pub(crate) fn add(
        &mut self,
        path: PathBuf,
        text: String,
        included_from: Option<Span>,
    ) -> FileId {
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(index, _)| index + 1))
            .collect();
        self.files.push(SourceFile {
            path,
            text: text.into(),
            included_from,
            line_starts,
        });
        FileId(self.files.len() - 1)
    }
}

impl SourceFile {
    /// The number of lines.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The text of a line (from 1) without its end.
    pub fn line(&self, number: usize) -> &str {
        let start = self.line_starts[number - 1];
        let end = self
            .line_starts
            .get(number)
            .map_or(self.text.len(), |next| next - 1);
        self.text[start..end].trim_end_matches('\r')
    }

    /// The place of a byte of the text.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let before = &self.text[self.line_starts[line - 1]..offset];
        Position {
            path: self.path.clone(),
            line,
            column: before.chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_may_end_in_crlf() {
        let mut map = SourceMap::default();
        let file = map.add("a.ice".into(), "ab\r\ncü§d\n".into(), None);
        let at = |offset| {
            let position = map.file(file).position(offset);
            (position.line, position.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(4), (2, 1));
        assert_eq!(at("ab\r\ncü§".len()), (2, 4));
        assert_eq!(at(1000), (3, 1));
        assert_eq!(map.file(file).line(1), "ab");
        assert_eq!(map.file(file).line(2), "cü§d");
    }

    #[test]
    fn a_chain_asks_the_second_loader_only_for_what_the_first_lacks() {
        let chain = MemoryLoader::new()
            .with("a", "1")
            .or(MemoryLoader::new().with("a", "2").with("b", "3"));
        assert_eq!(chain.load(Path::new("a")).unwrap(), b"1");
        assert_eq!(chain.load(Path::new("./x/../b")).unwrap(), b"3");
        let missing = chain.load(Path::new("c")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
