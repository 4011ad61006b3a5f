//! Sequences and dictionaries.

use std::collections::HashSet;

use super::{Checker, Context};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{DefinitionId, DefinitionKind, Dictionary, Primitive, Sequence, Type};
use crate::parse::ast::{AnnotatedType, Name};

/// The use of a type as the key of a dictionary.
#[derive(Debug, Clone)]
enum Key {
    Legal,
    /// It is a sequence or contains one, which only Ice 3.7 accepts.
    HasSequence,
    /// It is, or contains, what cannot be compared: (in words, the member that has it).
    Illegal(String, Option<Span>),
}

/// The name of a sequence in a message.
const SEQUENCE: &str = "a sequence";

impl Checker {
    pub(super) fn sequence(
        &mut self,
        name: &Name,
        element: &AnnotatedType,
        context: Context,
    ) -> Option<DefinitionKind> {
        self.check_type_metadata(&element.metadata);
        let resolved = self.part(name, element, context)?;
        let depth = self.depth_above([self.type_depth(resolved)], name.span)?;
        self.set_depth(name, context, depth);
        Some(DefinitionKind::Sequence(Sequence {
            element: resolved,
            element_metadata: element.metadata.clone(),
        }))
    }

    pub(super) fn dictionary(
        &mut self,
        name: &Name,
        key: &AnnotatedType,
        value: &AnnotatedType,
        context: Context,
    ) -> Option<DefinitionKind> {
        self.check_type_metadata(&key.metadata);
        self.check_type_metadata(&value.metadata);
        let key_type = self.part(name, key, context);
        let value_type = self.part(name, value, context);
        let (key_type, value_type) = (key_type?, value_type?);
        self.check_key(key_type, key.r#type.span)?;
        let depths = [self.type_depth(key_type), self.type_depth(value_type)];
        let depth = self.depth_above(depths, name.span)?;
        self.set_depth(name, context, depth);
        Some(DefinitionKind::Dictionary(Dictionary {
            key: key_type,
            key_metadata: key.metadata.clone(),
            value: value_type,
            value_metadata: value.metadata.clone(),
        }))
    }

    /// The type of an element, key or value, which must not be the collection itself.
    fn part(&mut self, name: &Name, part: &AnnotatedType, context: Context) -> Option<Type> {
        let resolved = self.resolve_type(&part.r#type, context)?;
        if let Type::Named(id) = resolved
            && self.facts[id.0].completed.is_none()
            && !matches!(self.definition(id).kind, DefinitionKind::Class(_))
        {
            let message = format!("`{}` would contain itself", name.text);
            let help = "name another type";
            self.error(Code::RecursiveStruct, part.r#type.span, message, help);
            return None;
        }
        Some(resolved)
    }

    fn check_key(&mut self, key: Type, span: Span) -> Option<()> {
        let name = self.type_text(key);
        match self.key(key, &mut HashSet::new()) {
            Key::Legal => Some(()),
            Key::HasSequence if self.language.has_37() => {
                let message = format!("the key type `{name}` is or contains a sequence");
                let help = "Ice 3.8 rejects such keys: use a string, an integer, an enum or a struct of these";
                self.error(Code::DeprecatedKey, span, message, help);
                Some(())
            }
            verdict => {
                let (reason, place) = match verdict {
                    Key::Illegal(reason, place) => (reason, place),
                    _ => (SEQUENCE.to_owned(), None),
                };
                let mut message = format!("`{name}` cannot be the key of a dictionary");
                if let (Type::Named(id), None) = (key, place) {
                    let relation = match self.definition(id).kind {
                        DefinitionKind::Sequence(_) if reason != SEQUENCE => "contains",
                        DefinitionKind::Struct(_) => "contains",
                        _ => "is",
                    };
                    message = format!("{message}: it {relation} {reason}");
                }
                let help = "keys are booleans, integers, strings, enums, and structs of these";
                let mut diagnostic = Diagnostic::new(Code::IllegalKey, span, message).help(help);
                if let Some(place) = place {
                    diagnostic = diagnostic.label(place, format!("{reason} in the key"));
                }
                self.report(diagnostic);
                None
            }
        }
    }

    /// The verdict about a type, leaving out what was `seen` already: its verdict has been counted.
    fn key(&self, r#type: Type, seen: &mut HashSet<DefinitionId>) -> Key {
        let id = match r#type {
            Type::Primitive(Primitive::Float | Primitive::Double) => {
                return Key::Illegal("a floating-point number".to_owned(), None);
            }
            Type::Primitive(_) => return Key::Legal,
            Type::Proxy(_) | Type::ObjectProxy => return Key::Illegal("a proxy".to_owned(), None),
            Type::AnyClass => return Key::Illegal("a class".to_owned(), None),
            Type::Named(id) => id,
        };
        if !seen.insert(id) {
            return Key::Legal;
        }
        match &self.definition(id).kind {
            DefinitionKind::Enum(_) => Key::Legal,
            // What a sequence in a key holds must be a legal key in turn.
            DefinitionKind::Sequence(sequence) => match self.key(sequence.element, seen) {
                Key::Illegal(reason, place) => Key::Illegal(reason, place),
                _ => Key::HasSequence,
            },
            DefinitionKind::Struct(structure) => {
                let mut verdict = Key::Legal;
                for member in &structure.members {
                    match self.key(member.r#type, seen) {
                        Key::Legal => {}
                        Key::HasSequence => verdict = Key::HasSequence,
                        Key::Illegal(reason, place) => {
                            return Key::Illegal(reason, place.or(Some(member.span)));
                        }
                    }
                }
                verdict
            }
            _ => Key::Illegal(self.noun(id).to_owned(), None),
        }
    }
}
