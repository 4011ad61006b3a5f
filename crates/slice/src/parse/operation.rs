//! Operations, and the data members of classes beside them.

use super::ast::{Member, Name, Operation, Parameter, Prelude, Tag, Type};
use super::{Failed, Parsed, Parser};
use crate::diagnostic::Code;
use crate::lexer::TokenKind;

/// A member of a class: in Ice 3.7 operations too.
pub(super) enum ClassMember {
    Data(Member),
    Operation(Operation),
}

impl Parser<'_> {
    /// An operation of an interface, with its semicolon.
    pub(super) fn operation(&mut self) -> Parsed<Operation> {
        let prelude = self.prelude()?;
        let is_idempotent = self.eat_word("idempotent");
        let returns = self.returns()?;
        let name = self.name("the operation")?;
        if self.peek_is(';') || self.peek_is('=') {
            let message = format!(
                "an interface has operations only, and `{}` is none",
                name.text
            );
            let help = format!("write `{}()` for an operation that returns it", name.text);
            self.error(Code::Syntax, name.span, message, &help);
            return Err(Failed);
        }
        self.operation_rest(prelude, is_idempotent, returns, name)
    }

    /// A data member or an operation, with its semicolon.
    pub(super) fn class_member(&mut self) -> Parsed<ClassMember> {
        let prelude = self.prelude()?;
        let is_operation = matches!(self.peek_word(), Some("idempotent" | "void"));
        let is_idempotent = self.eat_word("idempotent");
        let returns = self.returns()?;
        let name = self.name("the member")?;
        match returns {
            Some((tag, r#type)) if !is_operation && !self.peek_is('(') => {
                let member = self.member_rest(prelude, tag, r#type, name)?;
                Ok(ClassMember::Data(member))
            }
            returns => {
                self.check_class_operation(&name);
                let operation = self.operation_rest(prelude, is_idempotent, returns, name)?;
                Ok(ClassMember::Operation(operation))
            }
        }
    }

    fn check_class_operation(&mut self, name: &Name) {
        if !self.language.has_37() {
            let message = "Ice 3.8 has no operations in classes";
            let help = "move the operation to an interface";
            self.error(Code::WrongLanguage, name.span, message, help);
        }
    }

    fn returns(&mut self) -> Parsed<Option<(Option<Tag>, Type)>> {
        if self.eat_word("void") {
            return Ok(None);
        }
        let tag = self.tag()?;
        Ok(Some((tag, self.r#type()?)))
    }

    fn operation_rest(
        &mut self,
        prelude: Prelude,
        is_idempotent: bool,
        returns: Option<(Option<Tag>, Type)>,
        name: Name,
    ) -> Parsed<Operation> {
        self.expect('(', "after the name of the operation")?;
        let mut parameters = Vec::new();
        if !self.peek_is(')') {
            parameters.push(self.parameter()?);
            while self.eat(',') {
                parameters.push(self.parameter()?);
            }
        }
        self.expect(')', "after the parameters")?;
        let throws = if self.eat_word("throws") {
            self.scoped_names("an exception")?
        } else {
            Vec::new()
        };
        self.semicolon(&format!("the operation `{}`", name.text));
        Ok(Operation {
            prelude,
            is_idempotent,
            returns,
            name,
            parameters,
            throws,
        })
    }

    /// `in`, which IDL writes before a parameter and Slice does not.
    fn refuse_in(&mut self) {
        let is_type = self.peek_at(1).is_some_and(|next| next.word().is_some());
        let goes_on = self.peek_at(2).is_some_and(|next| {
            next.word().is_some() || next.is('*') || next.kind == TokenKind::Scope
        });
        if self.peek_word() == Some("in") && is_type && goes_on {
            let span = self.here();
            let message = "a parameter is an in-parameter unless `out` stands before it";
            self.error(Code::Syntax, span, message, "remove `in`");
            self.at += 1;
        }
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let before = self.prelude()?;
        self.refuse_in();
        let is_out = self.eat_word("out");
        if let (true, false, Some(metadata)) =
            (is_out, self.language.has_38(), before.metadata.first())
        {
            let message = "in Ice 3.7, the metadata of an out-parameter stands behind `out`";
            let help = "write `out [\"...\"] type name`";
            self.error(Code::MisplacedMetadata, metadata.span, message, help);
        }
        let mut prelude = before;
        if is_out {
            let behind = self.prelude()?;
            prelude.metadata.extend(behind.metadata);
            prelude.doc = prelude.doc.or(behind.doc);
        }
        Ok(Parameter {
            prelude,
            is_out,
            tag: self.tag()?,
            r#type: self.r#type()?,
            name: self.name("this parameter")?,
        })
    }
}
