//! Metadata and doc comments: what stands before a construct.

use super::ast::Prelude;
use super::{Parsed, Parser, literal};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::lexer::TokenKind;
use crate::model::Metadata;

impl Parser<'_> {
    /// Metadata and the doc comment, which may stand before or behind the metadata.
    pub(super) fn prelude(&mut self) -> Parsed<Prelude> {
        let before = self.doc();
        let metadata = self.metadata()?;
        Ok(Prelude {
            metadata,
            doc: before.or_else(|| self.doc()),
        })
    }

    fn doc(&self) -> Option<String> {
        let doc = self.peek().and_then(|token| token.doc.as_ref());
        doc.map(|doc| doc.to_string())
    }

    /// `["...", "..."]`, in Ice 3.8 several times.
    pub(super) fn metadata(&mut self) -> Parsed<Vec<Metadata>> {
        let mut all = Vec::new();
        let mut groups = 0;
        while self.peek_is('[') {
            let open = self.here();
            self.at += 1;
            groups += 1;
            if groups == 2 && !self.language.has_38() {
                let message = "Ice 3.7 allows one pair of metadata brackets";
                let help = "put all directives into one pair: `[\"a\", \"b\"]`";
                self.error(Code::WrongLanguage, open, message, help);
            }
            if self.eat(']') {
                self.empty_metadata(open.to(self.previous()));
                continue;
            }
            self.directives(&mut all)?;
            self.expect(']', "after the metadata")?;
        }
        if let (Some(token), true) = (self.peek(), self.peek_is_file_metadata()) {
            let span = token.span;
            let help = "use single brackets here; `[[...]]` is for the whole file";
            let message = "file metadata stands where only single brackets fit";
            self.error(Code::MisplacedMetadata, span, message, help);
            return Err(super::Failed);
        }
        Ok(all)
    }

    /// `[["..."]]`
    pub(super) fn file_metadata(&mut self) {
        let start = self.at;
        let open = self.here();
        self.at += 1;
        if self.started.contains(&open.file) {
            let message = "file metadata stands behind a definition";
            let help = "move it to the top of the file, before the first module";
            self.error(Code::MisplacedMetadata, open, message, help);
        }
        if self.eat_kind(&TokenKind::CloseFile) {
            self.empty_metadata(open.to(self.previous()));
            return;
        }
        let mut found = Vec::new();
        let parsed = self.directives(&mut found);
        if parsed.is_ok() && self.eat_kind(&TokenKind::CloseFile) {
            let found = found.into_iter().map(|metadata| (open.file, metadata));
            self.unit.file_metadata.extend(found);
            return;
        }
        if parsed.is_ok() {
            let _ = self.unexpected::<()>("expected `]]` after the file metadata");
        }
        self.skip_metadata(start);
    }

    fn skip_metadata(&mut self, start: usize) {
        while self.peek().is_some_and(|token| {
            !token.starts_line
                && !matches!(token.kind, TokenKind::Punct(']') | TokenKind::CloseFile)
        }) {
            self.at += 1;
        }
        while self.eat(']') || self.eat_kind(&TokenKind::CloseFile) {}
        self.ensure_progress(start);
    }

    fn peek_is_file_metadata(&self) -> bool {
        self.peek()
            .is_some_and(|token| token.kind == TokenKind::OpenFile)
    }

    fn empty_metadata(&mut self, span: Span) {
        if self.language.has_38() {
            let diagnostic = Diagnostic::new(Code::EmptyMetadata, span, "these brackets are empty");
            self.reporter.report(diagnostic.help("remove them"));
        } else {
            let message = "Ice 3.7 does not allow empty metadata brackets";
            self.error(Code::WrongLanguage, span, message, "remove them");
        }
    }

    /// Strings with commas between them; strings that follow one another are joined.
    fn directives(&mut self, all: &mut Vec<Metadata>) -> Parsed<()> {
        loop {
            let mut text = String::new();
            let start = self.here();
            while let Some(TokenKind::Str(raw)) = self.peek().map(|token| token.kind.clone()) {
                let span = self.here();
                self.at += 1;
                text.push_str(&literal::string(&raw, span, self.language, self.reporter));
            }
            if self.at == 0 || !matches!(self.tokens[self.at - 1].kind, TokenKind::Str(_)) {
                return self.unexpected("expected a metadata directive in quotes");
            }
            let span = start.to(self.previous());
            all.push(Metadata { text, span });
            if !self.eat(',') {
                return Ok(());
            }
        }
    }
}
