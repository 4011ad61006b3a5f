//! Compares the encodings of two types.

use std::collections::HashSet;

use super::Comparison;
use crate::model::{DefinitionId, DefinitionKind, Member, Model, Type};

/// How the type of something relates to what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same; what may have changed inside of it is reported there.
    Same,
    /// Another name for the same bytes.
    Renamed,
    /// A proxy of another interface.
    OtherProxy,
    /// Other bytes.
    Other,
}

impl Comparison<'_> {
    pub(super) fn relation(&self, old: Type, new: Type) -> Relation {
        let is_proxy = |r#type| matches!(r#type, Type::ObjectProxy | Type::Proxy(_));
        if is_proxy(old) && is_proxy(new) {
            let is_same = match (old, new) {
                (Type::Proxy(old), Type::Proxy(new)) => self.is_same_name(old, new),
                _ => old == new,
            };
            return match is_same {
                true => Relation::Same,
                false => Relation::OtherProxy,
            };
        }
        match (old, new) {
            (Type::Named(old), Type::Named(new)) => {
                if self.is_same_name(old, new) {
                    Relation::Same
                } else if self.has_same_shape(old, new, &mut HashSet::new()) {
                    Relation::Renamed
                } else {
                    Relation::Other
                }
            }
            _ if old == new => Relation::Same,
            _ => Relation::Other,
        }
    }

    /// Both types as Slice writes them.
    pub(super) fn names(&self, old: Type, new: Type) -> (String, String) {
        (name(self.old, old), name(self.new, new))
    }

    fn is_same_name(&self, old: DefinitionId, new: DefinitionId) -> bool {
        self.current_name(old) == self.new.definition(new).scoped
    }

    /// Returns true if values of the two definitions have the same bytes; `seen` ends cycles.
    pub(super) fn has_same_shape(
        &self,
        old: DefinitionId,
        new: DefinitionId,
        seen: &mut HashSet<(DefinitionId, DefinitionId)>,
    ) -> bool {
        if !seen.insert((old, new)) {
            return true;
        }
        let kinds = (
            &self.old.definition(old).kind,
            &self.new.definition(new).kind,
        );
        match kinds {
            (DefinitionKind::Enum(old), DefinitionKind::Enum(new)) => {
                let values = |of: &crate::model::Enum| {
                    let values = of.enumerators.iter().map(|enumerator| enumerator.value);
                    values.collect::<HashSet<_>>()
                };
                values(old) == values(new)
            }
            (DefinitionKind::Struct(old), DefinitionKind::Struct(new)) => {
                self.have_same_types(&old.members, &new.members, seen)
            }
            (DefinitionKind::Sequence(old), DefinitionKind::Sequence(new)) => {
                self.is_same_type(old.element, new.element, seen)
            }
            (DefinitionKind::Dictionary(old), DefinitionKind::Dictionary(new)) => {
                self.is_same_type(old.key, new.key, seen)
                    && self.is_same_type(old.value, new.value, seen)
            }
            _ => self.is_same_name(old, new),
        }
    }

    pub(super) fn have_same_types(
        &self,
        old: &[Member],
        new: &[Member],
        seen: &mut HashSet<(DefinitionId, DefinitionId)>,
    ) -> bool {
        let mut pairs = old.iter().zip(new);
        old.len() == new.len()
            && pairs.all(|(old, new)| {
                old.tag == new.tag && self.is_same_type(old.r#type, new.r#type, seen)
            })
    }

    fn is_same_type(
        &self,
        old: Type,
        new: Type,
        seen: &mut HashSet<(DefinitionId, DefinitionId)>,
    ) -> bool {
        match (old, new) {
            (Type::Named(old), Type::Named(new)) => {
                self.is_same_name(old, new) || self.has_same_shape(old, new, seen)
            }
            _ => !matches!(self.relation(old, new), Relation::Other),
        }
    }
}

/// A type as Slice writes it.
pub(super) fn name(model: &Model, r#type: Type) -> String {
    match r#type {
        Type::Primitive(primitive) => primitive.keyword().to_owned(),
        Type::ObjectProxy => "Object*".to_owned(),
        Type::AnyClass => "Object".to_owned(),
        Type::Named(id) => model.definition(id).scoped.clone(),
        Type::Proxy(id) => format!("{}*", model.definition(id).scoped),
    }
}
