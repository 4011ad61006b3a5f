//! Types and values.

use super::ast::{AnnotatedType, Tag, Type, TypeKind, Value, ValueKind};
use super::{Failed, Parsed, Parser, literal};
use crate::diagnostic::Code;
use crate::lexer::{Token, TokenKind};
use crate::model::Primitive;

impl Parser<'_> {
    pub(super) fn annotated_type(&mut self) -> Parsed<AnnotatedType> {
        let metadata = self.metadata()?;
        Ok(AnnotatedType {
            metadata,
            r#type: self.r#type()?,
        })
    }

    pub(super) fn r#type(&mut self) -> Parsed<Type> {
        let start = self.here();
        let kind = match self.peek().map(|token| token.kind.clone()) {
            Some(TokenKind::Word(word)) => self.type_of_word(&word)?,
            Some(TokenKind::Escaped(_) | TokenKind::Scope) => self.named_type()?,
            Some(TokenKind::Punct('[')) => return self.late_metadata(),
            _ => return self.unexpected("expected a type"),
        };
        if self.peek_is('[') || self.peek_is('<') {
            return self.anonymous_collection();
        }
        Ok(Type {
            kind,
            span: start.to(self.previous()),
        })
    }

    fn late_metadata<T>(&mut self) -> Parsed<T> {
        let message = "metadata cannot stand here";
        let help = "write it before the whole member, operation or parameter (but behind `out`)";
        self.error(Code::MisplacedMetadata, self.here(), message, help);
        Err(Failed)
    }

    fn type_of_word(&mut self, word: &str) -> Parsed<TypeKind> {
        if let Some(primitive) = primitive(word) {
            self.at += 1;
            return Ok(TypeKind::Primitive(primitive));
        }
        match word {
            "Object" => {
                self.at += 1;
                let is_proxy = self.eat('*');
                Ok(if is_proxy {
                    TypeKind::ObjectProxy
                } else {
                    TypeKind::AnyClass
                })
            }
            "Value" => {
                self.at += 1;
                Ok(TypeKind::AnyClass)
            }
            "LocalObject" if self.language.has_37() => {
                self.at += 1;
                Ok(TypeKind::LocalObject)
            }
            "sequence" | "dictionary" => self.anonymous_collection(),
            "void" => {
                let span = self.here();
                let message = "`void` is not a type of values";
                let help = "only an operation may return `void`";
                self.error(Code::Syntax, span, message, help);
                Err(Failed)
            }
            "unsigned" | "signed" if self.peek_at(1).is_some_and(is_primitive) => {
                let span = self.here();
                let message = format!("there are no `{word}` integers in Slice");
                let help = "`byte` is 0 to 255; `short`, `int` and `long` are signed: take the next larger one";
                self.error(Code::Syntax, span, message, help);
                Err(Failed)
            }
            _ if self.is_keyword(word) => self.unexpected("expected a type"),
            _ => self.named_type(),
        }
    }

    /// Reports a collection without a name of its own, as other languages have them.
    fn anonymous_collection<T>(&mut self) -> Parsed<T> {
        let span = self.here();
        let message = "a collection needs a definition of its own";
        let help =
            "define `sequence<T> Name;` or `dictionary<K, V> Name;` before, and use `Name` here";
        self.error(Code::Syntax, span, message, help);
        Err(Failed)
    }

    fn named_type(&mut self) -> Parsed<TypeKind> {
        let name = self.scoped_name("a type")?;
        let is_proxy = self.eat('*');
        Ok(if is_proxy {
            TypeKind::Proxy(name)
        } else {
            TypeKind::Named(name)
        })
    }

    /// `optional(tag)`, if it comes next.
    pub(super) fn tag(&mut self) -> Parsed<Option<Tag>> {
        let start = self.here();
        if !self.eat_word("optional") {
            return Ok(None);
        }
        let is_open = self.eat('(');
        if !is_open || self.peek_is(')') {
            let found = self.describe();
            let message = format!("expected a tag after `optional`, found {found}");
            let help = "write `optional(1)`: a number that nothing else here has";
            self.error(Code::Syntax, self.here(), message, help);
            return Err(Failed);
        }
        let value = self.integer_value()?;
        self.expect(')', "after the tag")?;
        if let Some(word @ ("void" | "out")) = self.peek_word() {
            let (message, help) = match word {
                "void" => (
                    "`void` cannot be optional",
                    "remove `optional`, or return a type",
                ),
                _ => (
                    "`out` stands before `optional`",
                    "write `out optional(1) type name`",
                ),
            };
            self.error(Code::Syntax, self.here(), message, help);
            return Err(Failed);
        }
        Ok(Some(Tag {
            value,
            span: start.to(self.previous()),
        }))
    }

    /// An integer or the name of one.
    pub(super) fn integer_value(&mut self) -> Parsed<Value> {
        let value = self.value()?;
        if matches!(value.kind, ValueKind::Integer(_) | ValueKind::Name(_)) {
            return Ok(value);
        }
        let message = "an integer is needed here";
        let help = "write an integer, or the name of an integer constant";
        self.error(Code::BadInitializer, value.span, message, help);
        Err(Failed)
    }

    /// A literal, or the name of a constant or enumerator.
    pub(super) fn value(&mut self) -> Parsed<Value> {
        let Some(token) = self.peek().cloned() else {
            return self.unexpected("expected a value");
        };
        let kind = match &token.kind {
            TokenKind::Punct('+' | '-') => return self.signed_number(&token),
            TokenKind::Number(text) => {
                self.at += 1;
                return literal::number(text, false, token.span, self.reporter).ok_or(Failed);
            }
            TokenKind::Str(raw) => {
                self.at += 1;
                self.refuse_more_strings();
                ValueKind::String(literal::string(
                    raw,
                    token.span,
                    self.language,
                    self.reporter,
                ))
            }
            TokenKind::Word(word) if matches!(&**word, "true" | "false") => {
                self.at += 1;
                ValueKind::Bool(&**word == "true")
            }
            TokenKind::Word(word) if !self.is_keyword(word) => {
                ValueKind::Name(self.scoped_name("a constant")?)
            }
            TokenKind::Escaped(_) | TokenKind::Scope => {
                ValueKind::Name(self.scoped_name("a constant")?)
            }
            _ => return self.unexpected("expected a value"),
        };
        Ok(Value {
            kind,
            span: token.span.to(self.previous()),
        })
    }

    fn signed_number(&mut self, sign: &Token) -> Parsed<Value> {
        self.at += 1;
        match self.peek().cloned() {
            Some(Token {
                kind: TokenKind::Number(text),
                spaced: false,
                span,
                ..
            }) => {
                self.at += 1;
                let span = sign.span.to(span);
                literal::number(&text, sign.is('-'), span, self.reporter).ok_or(Failed)
            }
            next => self.sign_without_number(sign, next.as_ref()),
        }
    }

    fn sign_without_number<T>(&mut self, sign: &Token, next: Option<&Token>) -> Parsed<T> {
        let Some(TokenKind::Number(number)) = next.map(|next| &next.kind) else {
            return self.unexpected("expected a number right after the sign");
        };
        let sign_text = sign.source();
        let message = format!("the sign `{sign_text}` stands apart from its number");
        let help = format!("write `{sign_text}{number}`");
        self.error(Code::Syntax, sign.span, message, &help);
        self.at += 1;
        Err(Failed)
    }

    fn refuse_more_strings(&mut self) {
        if !matches!(
            self.peek().map(|token| &token.kind),
            Some(TokenKind::Str(_))
        ) {
            return;
        }
        let span = self.here();
        let message = "strings that follow one another are joined in metadata only";
        let help = "write one string";
        self.error(Code::Syntax, span, message, help);
        while matches!(
            self.peek().map(|token| &token.kind),
            Some(TokenKind::Str(_))
        ) {
            self.at += 1;
        }
    }
}

fn primitive(word: &str) -> Option<Primitive> {
    Primitive::ALL
        .into_iter()
        .find(|primitive| primitive.keyword() == word)
}

fn is_primitive(token: &Token) -> bool {
    token.word().is_some_and(|word| primitive(word).is_some())
}
