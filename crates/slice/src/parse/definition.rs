//! Definitions other than modules.

use super::ast::{Class, Definition, Enumerator, Kind, Member, Name, Prelude, Tag, Type};
use super::keyword::{DEFINITION_KEYWORDS, FOREIGN_KEYWORDS, begins_definition};
use super::operation::ClassMember;
use super::{Failed, Parsed, Parser};
use crate::check::nearest;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    pub(super) fn definition(&mut self, prelude: Prelude) -> Parsed<Definition> {
        let local = self.local();
        let Some(word) = self.peek_word().map(str::to_owned) else {
            return self.unexpected("expected a definition");
        };
        if !begins_definition(&word) || word == "module" {
            return self.not_a_definition(&word);
        }
        self.at += 1;
        let (name, kind) = match word.as_str() {
            "interface" => self.interface()?,
            "class" => self.class()?,
            "exception" => self.exception()?,
            "struct" => {
                let name = self.name("the struct")?;
                if self.peek_is(';') {
                    return self.no_forward_declaration("struct", &name);
                }
                let errors = self.error_count;
                let members = self.block("struct", Self::member)?;
                let has_errors = self.error_count > errors;
                (
                    name,
                    Kind::Struct {
                        members,
                        has_errors,
                    },
                )
            }
            "enum" => {
                let name = self.name("the enum")?;
                let enumerators = self.enumerators()?;
                (name, Kind::Enum { enumerators })
            }
            "sequence" => self.sequence()?,
            "dictionary" => self.dictionary()?,
            _ => self.constant()?,
        };
        if let (Some(local), Kind::Const { .. }) = (local, &kind) {
            let message = "a constant cannot be local";
            self.error(Code::Syntax, local, message, "remove `local`");
        }
        Ok(Definition {
            prelude,
            local,
            name,
            kind,
        })
    }

    /// The keyword `local`, if it stands before a definition.
    fn local(&mut self) -> Option<Span> {
        let span = self.here();
        let next_begins = self
            .peek_at(1)
            .and_then(Token::word)
            .is_some_and(begins_definition);
        if !next_begins || !self.eat_word("local") {
            return None;
        }
        if !self.language.has_37() {
            let message = "Ice 3.8 has no local types";
            self.error(Code::WrongLanguage, span, message, "remove `local`");
            return None;
        }
        Some(span)
    }

    fn not_a_definition<T>(&mut self, word: &str) -> Parsed<T> {
        let message = format!("expected a definition, found {}", self.describe());
        let mut diagnostic = Diagnostic::new(Code::Syntax, self.here(), message);
        let foreign = FOREIGN_KEYWORDS.iter().find(|(theirs, _)| *theirs == word);
        let meant = match foreign {
            Some((_, ours)) => Some(*ours),
            None => nearest(word, DEFINITION_KEYWORDS.iter().copied()),
        };
        diagnostic = match meant {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
            None => diagnostic.help(format!(
                "a definition begins with one of {}",
                DEFINITION_KEYWORDS.join(", ")
            )),
        };
        self.reporter.report(diagnostic);
        Err(Failed)
    }

    fn no_forward_declaration<T>(&mut self, what: &str, name: &Name) -> Parsed<T> {
        let message = format!("the {what} `{}` has no body", name.text);
        let help = "only classes and interfaces can be declared before they are defined";
        self.error(Code::Syntax, name.span, message, help);
        Err(Failed)
    }

    fn interface(&mut self) -> Parsed<(Name, Kind)> {
        let name = self.name("the interface")?;
        if self.eat(';') {
            return Ok((name, Kind::InterfaceDeclaration));
        }
        if self.peek_is('(') {
            let span = self.here();
            let message = "an interface has no compact id";
            self.error(
                Code::Syntax,
                span,
                message,
                "only classes have one: remove it",
            );
            return Err(Failed);
        }
        let bases = if self.eat_extends() {
            self.refuse_object_base()?;
            self.scoped_names("a base interface")?
        } else {
            Vec::new()
        };
        let operations = self.block("interface", Self::operation)?;
        Ok((name, Kind::Interface { bases, operations }))
    }

    fn refuse_object_base(&mut self) -> Parsed<()> {
        if self.peek_word() != Some("Object") {
            return Ok(());
        }
        let span = self.here();
        let message = "`Object` cannot be named as a base";
        let help = "every interface has it as a base already: remove it";
        self.error(Code::Syntax, span, message, help);
        Err(Failed)
    }

    fn class(&mut self) -> Parsed<(Name, Kind)> {
        let name = self.name("the class")?;
        if self.eat(';') {
            return Ok((name, Kind::ClassDeclaration));
        }
        let mut class = Class {
            compact_id: None,
            base: None,
            implements: Vec::new(),
            members: Vec::new(),
            operations: Vec::new(),
        };
        if self.eat('(') {
            class.compact_id = Some(self.integer_value()?);
            self.expect(')', "after the compact id")?;
        }
        class.base = self.single_base("class")?;
        let span = self.here();
        if self.eat_word("implements") {
            if !self.language.has_37() {
                let message = "Ice 3.8 has no classes that implement interfaces";
                let help = "remove `implements` and what follows, up to the `{`";
                self.error(Code::WrongLanguage, span, message, help);
            }
            class.implements = self.scoped_names("an interface")?;
        }
        for member in self.block("class", Self::class_member)? {
            match member {
                ClassMember::Data(member) => class.members.push(member),
                ClassMember::Operation(operation) => class.operations.push(operation),
            }
        }
        Ok((name, Kind::Class(class)))
    }

    fn exception(&mut self) -> Parsed<(Name, Kind)> {
        let name = self.name("the exception")?;
        if self.peek_is(';') {
            return self.no_forward_declaration("exception", &name);
        }
        let base = self.single_base("exception")?;
        let members = self.block("exception", Self::member)?;
        Ok((name, Kind::Exception { base, members }))
    }

    fn single_base(&mut self, what: &str) -> Parsed<Option<super::ast::ScopedName>> {
        if !self.eat_extends() {
            return Ok(None);
        }
        if matches!(self.peek_word(), Some("Object" | "Value")) {
            let span = self.here();
            let base = self.describe();
            let message = format!("expected the base {what}, found {base}");
            let help = match what {
                "class" => "every class has it as a base already: remove it and `extends`",
                _ => "an exception extends another exception",
            };
            self.error(Code::Syntax, span, message, help);
            return Err(Failed);
        }
        let base = self.scoped_name(&format!("the base {what}"))?;
        if self.peek_is(',') {
            let span = self.here();
            let message = format!("a {what} extends one other {what} at most");
            let help = "only interfaces have several bases";
            self.error(Code::Syntax, span, message, help);
            while self.eat(',') {
                self.scoped_name(&format!("the base {what}"))?;
            }
        }
        Ok(Some(base))
    }

    /// `extends`, or `:` in Ice 3.8.
    fn eat_extends(&mut self) -> bool {
        if self.eat_word("extends") {
            return true;
        }
        let span = self.here();
        if !self.eat(':') {
            return false;
        }
        if !self.language.has_38() {
            let message = "Ice 3.7 does not know `:` before a base";
            self.error(Code::WrongLanguage, span, message, "write `extends`");
        }
        true
    }

    /// A data member with its semicolon.
    fn member(&mut self) -> Parsed<Member> {
        let prelude = self.prelude()?;
        let tag = self.tag()?;
        let r#type = self.r#type()?;
        let name = self.name("the member")?;
        if self.peek_is('(') {
            let message = format!("the operation `{}` stands outside an interface", name.text);
            let help = "move it to an interface";
            self.error(Code::Syntax, name.span, message, help);
            return Err(Failed);
        }
        self.member_rest(prelude, tag, r#type, name)
    }

    pub(super) fn member_rest(
        &mut self,
        prelude: Prelude,
        tag: Option<Tag>,
        r#type: Type,
        name: Name,
    ) -> Parsed<Member> {
        let default = if self.eat('=') {
            Some(self.value()?)
        } else {
            None
        };
        if self.peek_is(',') {
            let span = self.here();
            let message = "each member is declared by itself";
            let help = "write `;` here, and the type again before the next name";
            self.error(Code::MissingSemicolon, span, message, help);
            self.recover(self.at);
        } else {
            self.semicolon(&format!("the member `{}`", name.text));
        }
        Ok(Member {
            prelude,
            tag,
            r#type,
            name,
            default,
        })
    }

    /// The enumerators between the braces. Observed: to slice2cpp of Ice 3.7.8, commas without an
    /// enumerator mean nothing; slice2py of Ice 3.8.3 refuses all but one behind the last.
    fn enumerators(&mut self) -> Parsed<Vec<Enumerator>> {
        let open = self.expect('{', "to open the enum")?;
        let mut enumerators = Vec::new();
        while self.peek().is_some() && !self.peek_is('}') {
            if self.peek_is(',') && self.language.has_37() {
                let message = "this comma stands behind no enumerator";
                self.error(Code::DeprecatedFeature, self.here(), message, "remove it");
                self.at += 1;
                continue;
            }
            match self.enumerator() {
                Ok(enumerator) => enumerators.push(enumerator),
                Err(Failed) => self.skip_enumerator(),
            }
            if self.peek_is(';') {
                let span = self.here();
                let message = "enumerators are separated by commas";
                self.error(Code::Syntax, span, message, "write `,` instead of `;`");
                self.at += 1;
            } else if !self.eat(',') && !self.peek_is('}') {
                let _ = self.unexpected::<()>("expected `,` or `}` after the enumerator");
                self.skip_enumerator();
                if !self.eat(',') {
                    break;
                }
            }
        }
        self.close(open, "enum");
        self.eat(';');
        Ok(enumerators)
    }

    /// Skips to the end of an enumerator that could not be parsed.
    fn skip_enumerator(&mut self) {
        while self.peek().is_some_and(|token| {
            let ends = matches!(token.kind, TokenKind::Punct(',' | '}' | ';' | '{'));
            !ends && !token.word().is_some_and(begins_definition)
        }) {
            self.at += 1;
        }
    }

    fn enumerator(&mut self) -> Parsed<Enumerator> {
        let prelude = self.prelude()?;
        if let (Some(metadata), false) = (prelude.metadata.first(), self.language.has_38()) {
            let message = "Ice 3.7 has no metadata on enumerators";
            self.error(Code::WrongLanguage, metadata.span, message, "remove it");
        }
        let name = self.name("the enumerator")?;
        let value = if self.eat('=') {
            Some(self.integer_value()?)
        } else {
            None
        };
        Ok(Enumerator {
            prelude,
            name,
            value,
        })
    }

    fn sequence(&mut self) -> Parsed<(Name, Kind)> {
        self.expect('<', "after `sequence`")?;
        let element = self.annotated_type()?;
        self.expect('>', "after the type of the elements")?;
        let name = self.name("the sequence")?;
        self.semicolon(&format!("the sequence `{}`", name.text));
        Ok((name, Kind::Sequence { element }))
    }

    fn dictionary(&mut self) -> Parsed<(Name, Kind)> {
        self.expect('<', "after `dictionary`")?;
        let key = self.annotated_type()?;
        self.expect(',', "between the types of key and value")?;
        let value = self.annotated_type()?;
        self.expect('>', "after the type of the values")?;
        let name = self.name("the dictionary")?;
        self.semicolon(&format!("the dictionary `{}`", name.text));
        Ok((name, Kind::Dictionary { key, value }))
    }

    fn constant(&mut self) -> Parsed<(Name, Kind)> {
        let r#type = self.annotated_type()?;
        let name = self.name("the constant")?;
        if !self.eat_kind(&TokenKind::Punct('=')) {
            return self.unexpected("expected `=` and the value of the constant");
        }
        let value = self.value()?;
        self.semicolon(&format!("the constant `{}`", name.text));
        Ok((name, Kind::Const { r#type, value }))
    }
}
