//! Fields, which are encoded one after another: members and parameters.

use super::types::Relation;
use super::{ChangeCode, Comparison};
use crate::diagnostic::Span;
use crate::model::{Member, Metadata, Parameter, Type};

/// A member or parameter.
#[derive(Clone, Copy)]
pub(super) struct Field<'m> {
    name: &'m str,
    r#type: Type,
    tag: Option<i32>,
    metadata: &'m [Metadata],
    doc: Option<&'m str>,
    span: Span,
}

impl<'m> From<&'m Member> for Field<'m> {
    fn from(member: &'m Member) -> Self {
        Self {
            name: &member.name,
            r#type: member.r#type,
            tag: member.tag,
            metadata: &member.metadata,
            doc: member.doc.as_deref(),
            span: member.span,
        }
    }
}

impl<'m> From<&'m Parameter> for Field<'m> {
    fn from(parameter: &'m Parameter) -> Self {
        Self {
            name: &parameter.name,
            r#type: parameter.r#type,
            tag: parameter.tag,
            metadata: &parameter.metadata,
            doc: parameter.doc.as_deref(),
            span: parameter.span,
        }
    }
}

/// The name of a kind of field, and the codes of its changes.
pub(super) struct Noun {
    added: ChangeCode,
    removed: ChangeCode,
    renamed: ChangeCode,
    order_changed: ChangeCode,
    type_changed: ChangeCode,
}

pub(super) const MEMBER: Noun = Noun {
    added: ChangeCode::MemberAdded,
    removed: ChangeCode::MemberRemoved,
    renamed: ChangeCode::MemberRenamed,
    order_changed: ChangeCode::MemberOrderChanged,
    type_changed: ChangeCode::MemberTypeChanged,
};

pub(super) const PARAMETER: Noun = Noun {
    added: ChangeCode::ParameterAdded,
    removed: ChangeCode::ParameterRemoved,
    renamed: ChangeCode::ParameterRenamed,
    order_changed: ChangeCode::ParameterOrderChanged,
    type_changed: ChangeCode::ParameterTypeChanged,
};

impl Comparison<'_> {
    /// Compares the members of `subject`, or its parameters of one direction.
    pub(super) fn fields(&mut self, subject: &str, noun: &Noun, old: &[Field], new: &[Field]) {
        let (pairs, removed, added) = self.pair(old, new);
        for (old, place) in &pairs {
            self.field(subject, noun, old, &new[*place]);
        }
        for field in removed {
            let code = match field.tag {
                Some(_) => ChangeCode::OptionalRemoved,
                None => noun.removed,
            };
            let message = format!("`{}` is gone", field.name);
            let subject = format!("{subject}::{}", field.name);
            self.report(code, subject, (Some(field.span), None), message);
        }
        for field in added {
            let code = match field.tag {
                Some(_) => ChangeCode::OptionalAdded,
                None => noun.added,
            };
            let message = format!("`{}` is new", field.name);
            let subject = format!("{subject}::{}", field.name);
            self.report(code, subject, (None, Some(field.span)), message);
        }
        self.order(subject, noun, &pairs, new);
    }

    /// Says which field of the old contract is which of the new one: by name, then optionals by tag, which is
    /// their name on the wire, and the others, of the same type, by what stands before them.
    fn pair<'f>(&self, old: &'f [Field<'f>], new: &'f [Field<'f>]) -> Pairing<'f> {
        let mut taken = vec![false; new.len()];
        let mut partners: Vec<Option<usize>> = Vec::new();
        for field in old {
            let partner = new.iter().position(|other| other.name == field.name);
            partner.inspect(|partner| taken[*partner] = true);
            partners.push(partner);
        }
        for (index, field) in old.iter().enumerate() {
            if partners[index].is_some() {
                continue;
            }
            let before = match index {
                0 => Some(0),
                _ => partners[index - 1].map(|partner| partner + 1),
            };
            let partner = match field.tag {
                Some(_) => new.iter().position(|other| other.tag == field.tag),
                None => before.filter(|before| *before < new.len()),
            };
            let fits = |partner: &usize| {
                let other = &new[*partner];
                let is_same = || self.relation(field.r#type, other.r#type) == Relation::Same;
                let is_alike = field.tag.is_some() || is_same();
                !taken[*partner] && other.tag == field.tag && is_alike
            };
            partners[index] = partner.filter(fits);
            partners[index].inspect(|partner| taken[*partner] = true);
        }
        let both = old.iter().zip(&partners);
        let pairs = both
            .clone()
            .filter_map(|(field, partner)| Some((*field, (*partner)?)));
        let removed = both.filter(|(_, partner)| partner.is_none());
        let added = new.iter().zip(&taken).filter(|(_, taken)| !**taken);
        (
            pairs.collect(),
            removed.map(|(field, _)| *field).collect(),
            added.map(|(field, _)| *field).collect(),
        )
    }

    fn field(&mut self, subject: &str, noun: &Noun, old: &Field, new: &Field) {
        let subject = format!("{subject}::{}", new.name);
        let places = (Some(old.span), Some(new.span));
        if old.name != new.name {
            let message = format!("the name was `{}` and is `{}`", old.name, new.name);
            self.report(noun.renamed, &*subject, places, message);
        }
        match (old.tag, new.tag) {
            (Some(was), Some(is)) if was != is => {
                let message = format!("the tag was {was} and is {is}");
                self.report(ChangeCode::TagChanged, &*subject, places, message);
            }
            (Some(tag), None) => {
                let message = format!("it was optional with tag {tag} and is required");
                self.report(ChangeCode::OptionalityChanged, &*subject, places, message);
            }
            (None, Some(tag)) => {
                let message = format!("it was required and is optional with tag {tag}");
                self.report(ChangeCode::OptionalityChanged, &*subject, places, message);
            }
            _ => {}
        }
        self.types(noun.type_changed, &subject, places, old.r#type, new.r#type);
        self.annotations(
            &subject,
            places,
            (old.metadata, new.metadata),
            (old.doc, new.doc),
        );
    }

    /// Compares two types; `code` is for one with other bytes.
    pub(super) fn types(
        &mut self,
        code: ChangeCode,
        subject: &str,
        places: (Option<Span>, Option<Span>),
        old: Type,
        new: Type,
    ) {
        let code = match self.relation(old, new) {
            Relation::Same => return,
            Relation::Renamed => ChangeCode::TypeRenamed,
            Relation::OtherProxy => ChangeCode::ProxyTypeChanged,
            Relation::Other => code,
        };
        let (was, is) = self.names(old, new);
        let message = format!("the type was `{was}` and is `{is}`");
        self.report(code, subject, places, message);
    }

    /// Reports once if fields that were and are required changed places.
    fn order(&mut self, subject: &str, noun: &Noun, pairs: &[(Field, usize)], new: &[Field]) {
        let required = pairs
            .iter()
            .filter(|(old, place)| old.tag.is_none() && new[*place].tag.is_none());
        let mut last: Option<usize> = None;
        for (old, place) in required {
            if let Some(last) = last.filter(|last| last > place) {
                let (field, last) = (&new[*place], &new[last]);
                let message = format!(
                    "`{}` stood behind `{}` and stands before it",
                    field.name, last.name
                );
                let places = (Some(old.span), Some(field.span));
                self.report(noun.order_changed, subject, places, message);
                return;
            }
            last = Some(*place);
        }
    }
}

/// Fields that both contracts have, each with its place in the new one, that only the old one has, and that only the
/// new one has.
type Pairing<'f> = (Vec<(Field<'f>, usize)>, Vec<Field<'f>>, Vec<Field<'f>>);
