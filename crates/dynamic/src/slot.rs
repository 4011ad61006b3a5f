//! Slots, which have a name and a type: members of structs and exceptions, parameters, results.

use floe_slice::model::{ConstValue, Member, Parameter, Type};

use crate::wording::join;

/// Something with a name and a type: a member, or a parameter.
pub(crate) struct Slot<'a> {
    pub(crate) name: &'a str,
    pub(crate) r#type: Type,
    /// The tag, if it is optional.
    pub(crate) tag: Option<u32>,
    pub(crate) default: Option<&'a ConstValue>,
}

impl<'a> From<&'a Member> for Slot<'a> {
    fn from(member: &'a Member) -> Self {
        Self {
            name: &member.name,
            r#type: member.r#type,
            tag: tag(member.tag),
            default: member.default.as_ref(),
        }
    }
}

impl<'a> From<&'a Parameter> for Slot<'a> {
    fn from(parameter: &'a Parameter) -> Self {
        Self {
            name: &parameter.name,
            r#type: parameter.r#type,
            tag: tag(parameter.tag),
            default: None,
        }
    }
}

/// A tag as the wire has it; the compiler refuses negative ones.
pub(crate) fn tag(tag: Option<i32>) -> Option<u32> {
    tag.and_then(|tag| u32::try_from(tag).ok())
}

/// The indexes of slots in the order of the wire: tagged ones behind all others, by their tags.
pub(crate) fn wire_order(slots: &[Slot<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|index| slots[*index].tag);
    order
}

/// The types of what encoding 1.0 carries: tagged values are not written there, so that class
/// instances in them do not make a table of instances follow either.
///
/// Source: observed, Ice 3.7.8 for Python, parameters and exceptions.
pub(crate) fn untagged_types(slots: &[Slot<'_>]) -> impl Iterator<Item = Type> {
    let untagged = slots.iter().filter(|slot| slot.tag.is_none());
    untagged.map(|slot| slot.r#type)
}

/// The owner of slots, which are members, parameters or results, for a message.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    /// The type id, or the name of the operation.
    pub(crate) name: &'a str,
    /// The name of one of them.
    pub(crate) noun: &'static str,
}

impl<'a> Owner<'a> {
    pub(crate) fn of_members(name: &'a str) -> Self {
        let noun = "member";
        Self { name, noun }
    }
}

/// The names of members or parameters, for a message.
pub(crate) fn list(slots: &[Slot<'_>]) -> String {
    let names: Vec<&str> = slots.iter().map(|slot| slot.name).collect();
    join(&names)
}
