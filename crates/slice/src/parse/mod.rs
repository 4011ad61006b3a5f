//! Tokens to syntax tree.
//!
//! A parser by recursive descent that always yields a tree: after an error it goes on behind the
//! next `;` or before the `}` that closes the construct, so that one run finds several errors.

pub(crate) mod ast;
mod definition;
mod keyword;
mod literal;
mod metadata;
mod name;
mod operation;
mod recovery;
mod types;

use std::collections::HashSet;

use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::lexer::{Token, TokenKind};
use crate::model::FileId;
use crate::preprocess::Preprocessed;
use ast::{Item, Module, Prelude, Unit};

/// How deep modules may nest.
const MAX_MODULE_DEPTH: usize = 64;

/// Parses the tokens of a translation unit whose main file is `main`.
pub(crate) fn parse(
    input: Preprocessed,
    main: FileId,
    language: Language,
    reporter: &mut Reporter,
) -> Unit {
    let tokens = input.tokens;
    let mut parser = Parser {
        end: tokens.last().map_or(
            Span {
                file: main,
                start: 0,
                end: 0,
            },
            |last| last.span.after(),
        ),
        tokens,
        at: 0,
        language,
        reporter,
        depth: 0,
        started: HashSet::new(),
        unit: Unit {
            lacks_files: input.lacks_files,
            ..Unit::default()
        },
        has_reported_end: !input.is_complete,
        error_count: 0,
    };
    let mut items = Vec::new();
    parser.items(&mut items, true);
    parser.unit.items = items;
    parser.unit
}

/// The construct could not be parsed; it has been reported.
#[derive(Debug)]
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser<'r> {
    tokens: Vec<Token>,
    at: usize,
    language: Language,
    reporter: &'r mut Reporter,
    /// The place behind the last token.
    end: Span,
    /// How many modules are open.
    depth: usize,
    /// Files in which a definition has begun: no more file metadata there.
    started: HashSet<FileId>,
    unit: Unit,
    /// True if it is known that the text ends too early: one message about it is enough.
    has_reported_end: bool,
    /// How many errors of syntax were reported.
    error_count: usize,
}

impl Parser<'_> {
    /// Items up to the end of the text, or up to the `}` of the module.
    fn items(&mut self, items: &mut Vec<Item>, is_top: bool) {
        while let Some(token) = self.peek() {
            let start = self.at;
            match token.kind {
                TokenKind::Punct('}') if !is_top => return,
                TokenKind::Punct('}') => {
                    let span = token.span;
                    self.at += 1;
                    let help = "remove it, or look for a `{` that is missing before it";
                    self.error(Code::Syntax, span, "this `}` closes nothing", help);
                }
                TokenKind::Punct(';') => self.lone_semicolon(),
                TokenKind::OpenFile => self.file_metadata(),
                _ => {
                    if let Ok(item) = self.item() {
                        items.push(item);
                    } else {
                        self.recover(start);
                    }
                }
            }
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        if let Some(token) = self.peek() {
            let file = token.span.file;
            self.started.insert(file);
        }
        let prelude = self.prelude()?;
        if self.eat_word("module") {
            return self.module(prelude).map(Item::Module);
        }
        let definition = self.definition(prelude)?;
        Ok(Item::Definition(Box::new(definition)))
    }

    fn module(&mut self, prelude: Prelude) -> Parsed<Module> {
        let start = self.at;
        let mut path = vec![self.name("the module")?];
        while self.eat_kind(&TokenKind::Scope) {
            path.push(self.name("the module")?);
        }
        let span = self.tokens[start].span.to(self.previous());
        self.check_scoped_name(start, span);
        self.check_path(&path, &prelude)?;
        let open = self.expect('{', "to open the module")?;
        self.depth += path.len();
        let mut items = Vec::new();
        self.items(&mut items, false);
        self.depth -= path.len();
        self.close(open, "module");
        self.eat(';');
        Ok(Module {
            prelude,
            path,
            items,
        })
    }

    fn check_path(&mut self, path: &[ast::Name], prelude: &Prelude) -> Parsed<()> {
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Err(Failed);
        };
        let span = first.span.to(last.span);
        if self.depth + path.len() > MAX_MODULE_DEPTH {
            let message = format!("modules nest more than {MAX_MODULE_DEPTH} deep");
            self.error(Code::LimitExceeded, span, message, "use fewer modules");
            // What follows cannot be understood without these modules.
            self.at = self.tokens.len();
            self.has_reported_end = true;
            return Err(Failed);
        }
        if path.len() > 1 && !self.language.has_38() {
            let message = "Ice 3.7 does not know `module A::B`";
            let help = "write one module inside the other";
            self.error(Code::WrongLanguage, span, message, help);
        }
        if let (true, Some(metadata)) = (path.len() > 1, prelude.metadata.first()) {
            let message = "metadata before `module A::B` have no meaning";
            let help = "write one module inside the other, with the metadata before the right one";
            self.error(Code::UnknownMetadata, metadata.span, message, help);
        }
        Ok(())
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn peek_is(&self, punctuation: char) -> bool {
        self.peek().is_some_and(|token| token.is(punctuation))
    }

    fn peek_word(&self) -> Option<&str> {
        self.peek().and_then(Token::word)
    }

    fn eat(&mut self, punctuation: char) -> bool {
        self.eat_kind(&TokenKind::Punct(punctuation))
    }

    fn eat_kind(&mut self, kind: &TokenKind) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == *kind);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.at += usize::from(found);
        found
    }

    /// The place of the next token, or of the end of the text.
    fn here(&self) -> Span {
        self.peek().map_or(self.end, |token| token.span)
    }

    /// The place of the last token that was taken.
    fn previous(&self) -> Span {
        let previous = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        previous.map_or(self.end, |token| token.span)
    }

    fn expect(&mut self, punctuation: char, purpose: &str) -> Parsed<Span> {
        let span = self.here();
        if self.eat(punctuation) {
            return Ok(span);
        }
        self.unexpected(&format!("expected `{punctuation}` {purpose}"))
    }

    /// Reports that something else was expected than what comes next.
    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let message = format!("{expected}, found {}", self.describe());
        let span = self.here();
        if self.peek().is_some() || !self.has_reported_end {
            self.reporter
                .report(Diagnostic::new(Code::Syntax, span, message));
        }
        self.error_count += 1;
        self.has_reported_end |= self.peek().is_none();
        Err(Failed)
    }

    /// Describes the next token in words.
    fn describe(&self) -> String {
        match self.peek() {
            None => "the end of the file".to_owned(),
            Some(token) => match &token.kind {
                TokenKind::Str(_) => "a string".to_owned(),
                TokenKind::Word(word) if self.is_keyword(word) => format!("the keyword `{word}`"),
                _ => format!("`{}`", token.source()),
            },
        }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: &str) {
        self.error_count += 1;
        self.reporter
            .report(Diagnostic::new(code, span, message).help(help));
    }
}
