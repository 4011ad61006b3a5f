//! White space and comments.

use super::{Lexer, Token, TokenKind};
use crate::diagnostic::Code;

impl Lexer {
    /// Skips white space and plain comments, over line ends only if asked to; stops behind a doc
    /// comment and returns it.
    pub(super) fn skip_blanks(&mut self, over_lines: bool) -> Option<Token> {
        loop {
            let rest = self.rest();
            let bytes = rest.as_bytes();
            match bytes.first()? {
                b'\n' if !over_lines => return None,
                b'\n' => {
                    self.at += 1;
                    self.at_line_start = true;
                }
                b'\\' if rest.starts_with("\\\n") => self.at += 2,
                b'\\' if rest.starts_with("\\\r\n") => self.at += 3,
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if rest.starts_with("//") => {
                    if let Some(doc) = self.line_comment() {
                        return Some(doc);
                    }
                }
                b'/' if rest.starts_with("/*") => {
                    if let Some(doc) = self.block_comment() {
                        return Some(doc);
                    }
                }
                _ => return None,
            }
            self.spaced = true;
        }
    }

    /// `//` to the end of the line, which a backslash continues. `///` is a doc comment, `////` is not.
    fn line_comment(&mut self) -> Option<Token> {
        let rest = self.rest();
        let is_doc = rest.starts_with("///") && !rest.starts_with("////");
        let mut len = 0;
        for line in rest.split_inclusive('\n') {
            len += line.len();
            let ended = line.trim_end_matches(['\n', '\r']);
            if is_doc || !ended.ends_with('\\') {
                len -= line.len() - ended.len();
                break;
            }
        }
        self.comment(len, is_doc)
    }

    /// `/* ... */`. `/** ... */` is a doc comment, `/**/` is not.
    fn block_comment(&mut self) -> Option<Token> {
        let rest = self.rest();
        let end = rest[2..].find("*/").map(|index| index + 2);
        let body = &rest[2..end.unwrap_or(rest.len())];
        let is_doc = body.starts_with('*') && end.is_some_and(|end| end > 2);
        let nested = body.find("/*");
        let len = end.map_or(rest.len(), |end| end + 2);
        let start = self.at;
        let doc = self.comment(len, is_doc);
        let mut opening = self.span_from(start);
        opening.end = start + 2;
        if end.is_none() {
            let message = "this comment has no end".to_owned();
            let help = Some("close it with `*/`");
            self.problem(Code::UnterminatedComment, opening, message, help);
        } else if let Some(nested) = nested {
            opening.start = start + 2 + nested;
            opening.end = opening.start + 2;
            let message = "a comment begins inside a comment".to_owned();
            let help = Some("comments do not nest: the first `*/` ends both");
            self.problem(Code::NestedComment, opening, message, help);
        }
        doc
    }

    fn comment(&mut self, len: usize, is_doc: bool) -> Option<Token> {
        let span = self.take(len);
        self.spaced = true;
        let text = &self.text[span.start..span.end];
        is_doc.then(|| Token::new(TokenKind::Doc(text.into()), span))
    }
}
