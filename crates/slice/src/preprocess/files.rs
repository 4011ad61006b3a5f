//! The files of a compilation: each is loaded once, however often it is included.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::comments;
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::model::FileId;
use crate::source::{Loader, SourceMap, normalize};

/// All files read so far.
pub(crate) struct Files<'a> {
    loader: &'a dyn Loader,
    pub(crate) sources: SourceMap,
    /// By the one path that each file has; see [`key`].
    by_key: HashMap<PathBuf, FileId>,
    /// The files that are compiled themselves, by these paths.
    mains: HashSet<PathBuf>,
    /// Those of them that were read.
    main_files: HashSet<FileId>,
    /// Files that some translation unit has read from start to end.
    pub(crate) read_whole: HashSet<FileId>,
    /// Files that are not UTF-8 text, which is reported: what stands in them means nothing.
    pub(crate) unreadable: HashSet<FileId>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(loader: &'a dyn Loader, mains: &[PathBuf]) -> Self {
        Self {
            loader,
            mains: mains.iter().map(|main| key(loader, main)).collect(),
            main_files: HashSet::new(),
            sources: SourceMap::default(),
            by_key: HashMap::new(),
            read_whole: HashSet::new(),
            unreadable: HashSet::new(),
        }
    }

    /// Returns true if the file is compiled itself, and not only included.
    pub(crate) fn is_main(&self, file: FileId) -> bool {
        self.main_files.contains(&file)
    }

    /// The file at `path`, loaded unless it already is.
    pub(crate) fn open(
        &mut self,
        path: &Path,
        from: Option<Span>,
        reporter: &mut Reporter,
    ) -> io::Result<FileId> {
        let key = key(self.loader, path);
        if let Some(file) = self.by_key.get(&key) {
            return Ok(*file);
        }
        let bytes = self.loader.load(path)?;
        let file = self.add(path, &bytes, from, reporter);
        if self.mains.contains(&key) {
            self.main_files.insert(file);
        }
        self.by_key.insert(key, file);
        Ok(file)
    }

    fn add(
        &mut self,
        path: &Path,
        bytes: &[u8],
        from: Option<Span>,
        reporter: &mut Reporter,
    ) -> FileId {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let legible = comments::legible(bytes);
        let bytes = &*legible;
        match std::str::from_utf8(bytes) {
            Ok(text) => self.sources.add(path.to_owned(), text.to_owned(), from),
            Err(error) => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                let file = self.sources.add(path.to_owned(), text, from);
                self.unreadable.insert(file);
                let start = error.valid_up_to();
                let span = Span {
                    file,
                    start,
                    end: start + char::REPLACEMENT_CHARACTER.len_utf8(),
                };
                let byte = bytes[start];
                reporter.report(
                    Diagnostic::new(
                        Code::InvalidUtf8,
                        span,
                        format!("byte 0x{byte:02x} is not UTF-8 text, so this file is not read"),
                    )
                    .help("save the file as UTF-8"),
                );
                file
            }
        }
    }
}

/// The path by which a file is known, whichever path leads to it.
fn key(loader: &dyn Loader, path: &Path) -> PathBuf {
    let canonical = loader.canonical(path);
    canonical.unwrap_or_else(|| normalize(path))
}
