//! `#include`: which file is meant.

use std::io;
use std::path::{Path, PathBuf};

use super::{Abort, Preprocessor, Reader};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::lexer::TokenKind;
use crate::model::FileId;

/// The file that an `#include` names.
struct Header {
    name: String,
    /// True if it is in quotes: then the directory of the including file is searched first.
    is_quoted: bool,
    span: Span,
}

impl Preprocessor<'_, '_> {
    pub(super) fn include(&mut self, reader: &mut Reader, directive: Span) -> Result<(), Abort> {
        let Some(header) = self.header(reader, directive)? else {
            let message = "the name of the included file is missing";
            let help = "write `#include <file.ice>` or `#include \"file.ice\"`";
            self.error(Code::BadDirective, directive, message, help);
            return Ok(());
        };
        if self.is_late(reader) {
            let message = "in Ice 3.8, `#include` stands before all definitions of a file";
            let help = "move it to the top of the file";
            self.error(Code::LateInclude, header.span, message, help);
        }
        let Some(file) = self.find(&header, reader.file) else {
            self.lacks_files = true;
            return Ok(());
        };
        self.silence_if_foreign(file, &header, reader);
        if self.once.contains(&file) {
            return Ok(());
        }
        self.file(file, header.span, reader.depth + 1)
    }

    /// Angle brackets name the files of other projects, such as those of an installed Ice. Their warnings are
    /// shown only to those who ask.
    fn silence_if_foreign(&mut self, file: FileId, header: &Header, reader: &Reader) {
        let is_foreign = !header.is_quoted || self.reporter.is_silent(reader.file);
        if is_foreign && !self.options.warn_foreign && !self.files.is_main(file) {
            self.reporter.silence(file);
        }
    }

    fn header(&mut self, reader: &mut Reader, directive: Span) -> Result<Option<Header>, Abort> {
        if let Some((open, name, span)) = reader.lexer.header_name() {
            self.end_of_directive(&mut reader.lexer);
            return Ok(Some(Header {
                name,
                is_quoted: open == '"',
                span,
            }));
        }
        let mut tokens = Vec::new();
        while let Some(token) = reader.lexer.next_in_line() {
            tokens.push(token);
        }
        let tokens = self.expand_line(tokens, directive)?;
        let text: String = tokens.iter().map(|token| token.source()).collect();
        let span = tokens.first().map_or(directive, |token| token.span);
        let is_quoted = matches!(
            tokens.first().map(|token| &token.kind),
            Some(TokenKind::Str(_))
        );
        let inner = if is_quoted {
            text.strip_prefix('"').and_then(|text| text.split_once('"'))
        } else {
            text.strip_prefix('<').and_then(|text| text.split_once('>'))
        };
        Ok(inner.map(|(name, _)| Header {
            name: name.to_owned(),
            is_quoted,
            span,
        }))
    }

    fn find(&mut self, header: &Header, from: FileId) -> Option<FileId> {
        let places = self.search_path(header, from);
        for place in &places {
            let path = place.join(&header.name);
            match self.files.open(&path, Some(header.span), self.reporter) {
                Ok(file) => return Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("cannot read `{}`: {error}", path.display());
                    self.error(
                        Code::IncludeNotFound,
                        header.span,
                        message,
                        "check the file and its permissions",
                    );
                    return None;
                }
            }
        }
        let message = format!("no directory has the file `{}`", header.name);
        let help = search_help(header, &places);
        self.reporter
            .report(Diagnostic::new(Code::IncludeNotFound, header.span, message).help(help));
        None
    }

    /// The directories in which a header is searched, in order.
    fn search_path(&self, header: &Header, from: FileId) -> Vec<PathBuf> {
        let mut places = Vec::new();
        if header.is_quoted {
            let including = &self.files.sources.file(from).path;
            places.push(including.parent().unwrap_or(Path::new("")).to_owned());
        }
        places.extend(self.options.include_dirs.iter().cloned());
        places
    }
}

fn search_help(header: &Header, places: &[PathBuf]) -> String {
    // A loader names what it holds itself `<...>`.
    let is_given = |place: &&PathBuf| !place.to_string_lossy().starts_with('<');
    let given: Vec<&PathBuf> = places.iter().filter(is_given).collect();
    if given.is_empty() {
        return format!(
            "no include directory (`-I`) is given: add one, or write `#include \"{}\"` to search beside this file",
            header.name
        );
    }
    let names: Vec<String> = given
        .iter()
        .map(|place| match place.as_os_str().is_empty() {
            true => "`.`".to_owned(),
            false => format!("`{}`", place.display()),
        })
        .collect();
    format!(
        "searched {}; add an include directory (`-I`)",
        names.join(", then ")
    )
}
