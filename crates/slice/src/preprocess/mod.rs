//! The C preprocessor over tokens: a main file and all that it includes become one token list.
//!
//! Working on tokens keeps every span true: a token of an included file points into that file, and
//! a token of a macro's body points at the use of the macro.

mod comments;
mod condition;
mod define;
mod directive;
mod expand;
mod files;
mod include;
mod macros;
mod number;

use std::collections::HashSet;
use std::rc::Rc;

use crate::compile::{Language, Options};
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::model::FileId;
use condition::Conditions;
pub(crate) use files::Files;
use macros::Macros;
pub use macros::is_macro;

/// How deep includes may nest: a file that includes itself without a guard is found by this.
const MAX_INCLUDE_DEPTH: usize = 100;
/// How often one translation unit may open files: includes that double at each level stay bounded.
const MAX_INCLUSIONS: usize = 10_000;
/// How many bytes one translation unit may read, repeated inclusions counted each time.
const MAX_TOTAL_BYTES: usize = 32 << 20;
/// How many tokens macros may produce in one translation unit.
const MAX_EXPANDED_TOKENS: usize = 500_000;
/// How many bytes of text these tokens may have: a macro that joins its argument to itself doubles its text.
const MAX_EXPANDED_BYTES: usize = 32 << 20;

/// The unit is given up: a limit was passed, and it has been reported.
#[derive(Debug)]
pub(crate) struct Abort;

/// Preprocesses one translation unit.
pub(crate) struct Preprocessor<'a, 'l> {
    options: &'a Options,
    files: &'a mut Files<'l>,
    reporter: &'a mut Reporter,
    macros: Macros,
    /// Files that said `#pragma once`.
    once: HashSet<FileId>,
    lacks_files: bool,
    inclusions: usize,
    bytes_left: usize,
    expansion_left: ExpansionLeft,
    /// The doc comment that belongs to the next token.
    doc: Option<String>,
    /// The place that `#line` has set for the file that is being read.
    place: Place,
    output: Vec<Token>,
}

/// The tokens and bytes that macros may still produce in a translation unit.
#[derive(Debug)]
struct ExpansionLeft {
    tokens: usize,
    bytes: usize,
}

/// The values of `__LINE__` and `__FILE__`, if not the place in the file.
#[derive(Debug, Default)]
struct Place {
    /// The number that is added to the number of a line.
    shift: i64,
    /// The name of the file as a string literal has it.
    name: Option<Rc<str>>,
}

/// The tokens of a translation unit.
pub(crate) struct Preprocessed {
    pub(crate) tokens: Vec<Token>,
    /// True if these are all: a limit may have ended the reading.
    pub(crate) is_complete: bool,
    /// True if an included file was not found: names may be unknown for no other reason.
    pub(crate) lacks_files: bool,
}

/// Where a file is being read.
struct Reader {
    file: FileId,
    lexer: Lexer,
    /// A token that was read ahead and not used.
    unread: Option<Token>,
    conditions: Conditions,
    depth: usize,
    /// True if this file itself has produced a word that is not part of its metadata.
    has_definitions: bool,
}

impl Reader {
    fn next(&mut self) -> Option<Token> {
        self.unread.take().or_else(|| self.lexer.next())
    }
}

impl<'a, 'l> Preprocessor<'a, 'l> {
    pub(crate) fn new(
        options: &'a Options,
        files: &'a mut Files<'l>,
        reporter: &'a mut Reporter,
    ) -> Self {
        Self {
            options,
            files,
            reporter,
            macros: Macros::predefined(options),
            once: HashSet::new(),
            lacks_files: false,
            inclusions: 0,
            bytes_left: MAX_TOTAL_BYTES,
            expansion_left: ExpansionLeft {
                tokens: MAX_EXPANDED_TOKENS,
                bytes: MAX_EXPANDED_BYTES,
            },
            doc: None,
            place: Place::default(),
            output: Vec::new(),
        }
    }

    /// The tokens of the translation unit of `main`.
    pub(crate) fn run(mut self, main: FileId) -> Preprocessed {
        let start = Span {
            file: main,
            start: 0,
            end: 0,
        };
        let is_complete = self.file(main, start, 0).is_ok();
        Preprocessed {
            tokens: self.output,
            is_complete,
            lacks_files: self.lacks_files,
        }
    }

    /// Reads a file that `opened` names.
    fn file(&mut self, file: FileId, opened: Span, depth: usize) -> Result<(), Abort> {
        let text = self.files.sources.file(file).text.clone();
        self.count_inclusion(text.len(), opened, depth)?;
        if self.files.unreadable.contains(&file) {
            self.lacks_files = true;
            return Ok(());
        }
        let mut reader = Reader {
            file,
            lexer: Lexer::new(file, text),
            unread: None,
            conditions: Conditions::default(),
            depth,
            has_definitions: false,
        };
        let including = std::mem::take(&mut self.place);
        while let Some(token) = reader.next() {
            if token.starts_line && token.is('#') {
                self.directive(&mut reader, token.span)?;
            } else if reader.conditions.are_met() {
                self.report_problems(&mut reader.lexer);
                self.text(&mut reader, token)?;
            } else {
                if !matches!(token.kind, TokenKind::Doc(_)) {
                    reader.lexer.skip_line();
                }
                reader.lexer.take_problems();
            }
        }
        self.report_problems(&mut reader.lexer);
        reader.conditions.report_open(self.reporter);
        self.doc = None;
        self.place = including;
        self.files.read_whole.insert(file);
        Ok(())
    }

    fn count_inclusion(&mut self, len: usize, opened: Span, depth: usize) -> Result<(), Abort> {
        self.inclusions += 1;
        if depth > MAX_INCLUDE_DEPTH {
            let message = format!("includes nest more than {MAX_INCLUDE_DEPTH} deep");
            let help = "protect the file with `#pragma once` or an include guard";
            return self.abort(opened, message, help);
        }
        if self.inclusions > MAX_INCLUSIONS {
            let message = format!("more than {MAX_INCLUSIONS} files are included");
            let help = "protect the files with `#pragma once` or include guards";
            return self.abort(opened, message, help);
        }
        match self.bytes_left.checked_sub(len) {
            Some(left) => self.bytes_left = left,
            None => {
                let message =
                    format!("a main file and its includes exceed {MAX_TOTAL_BYTES} bytes");
                return self.abort(opened, message, "split the contract");
            }
        }
        Ok(())
    }

    /// Passes on a token of the text, macros expanded.
    fn text(&mut self, reader: &mut Reader, token: Token) -> Result<(), Abort> {
        match &token.kind {
            TokenKind::Doc(text) => join_docs(&mut self.doc, text),
            TokenKind::Word(name) if self.macros.contains(name) => {
                for token in self.expand_in_text(reader, token)? {
                    self.push(reader, token);
                }
            }
            _ => self.push(reader, token),
        }
        Ok(())
    }

    fn push(&mut self, reader: &mut Reader, mut token: Token) {
        let unknown = match token.kind {
            TokenKind::Unknown(character) => Some(character),
            TokenKind::Char(_) => Some('\''),
            _ => None,
        };
        if let Some(character) = unknown {
            let shown = match character.is_ascii_graphic() {
                true => format!("`{character}`"),
                false => format!("{character:?}"),
            };
            let message = format!("the character {shown} is not used in Slice");
            let help = match character {
                '\'' => "text stands in double quotes; there are no single characters",
                _ => "remove it",
            };
            let diagnostic = Diagnostic::new(Code::IllegalCharacter, token.span, message);
            self.reporter.report(diagnostic.help(help));
            return;
        }
        reader.has_definitions |= matches!(token.kind, TokenKind::Word(_));
        token.doc = self.doc.take().map(Rc::from);
        self.output.push(token);
    }

    fn report_problems(&mut self, lexer: &mut Lexer) {
        for problem in lexer.take_problems() {
            let mut diagnostic = Diagnostic::new(problem.code, problem.span, problem.message);
            diagnostic.help = problem.help.map(str::to_owned);
            self.reporter.report(diagnostic);
        }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: &str) {
        self.reporter
            .report(Diagnostic::new(code, span, message).help(help));
    }

    fn abort<T>(&mut self, span: Span, message: String, help: &str) -> Result<T, Abort> {
        self.error(Code::LimitExceeded, span, message, help);
        Err(Abort)
    }

    /// Returns true if an include here breaks the rule of Ice 3.8 that includes come first.
    fn is_late(&self, reader: &Reader) -> bool {
        self.options.language == Language::V38 && reader.has_definitions
    }
}

/// Lines of `///` that follow one another are one comment; otherwise the last one counts.
fn join_docs(doc: &mut Option<String>, text: &str) {
    match doc {
        Some(before) if before.starts_with("///") && text.starts_with("///") => {
            before.push('\n');
            before.push_str(text);
        }
        _ => *doc = Some(text.to_owned()),
    }
}
