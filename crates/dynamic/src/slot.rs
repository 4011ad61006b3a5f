//! What has a name and a type: members of structs and exceptions, parameters, results.

use floe_slice::model::{ConstValue, Member, Parameter, Type};

use crate::wording::join;

/// Something with a name and a type: a member, or a parameter.
pub(crate) struct Slot<'a> {
    pub(crate) name: &'a str,
    pub(crate) r#type: Type,
    pub(crate) default: Option<&'a ConstValue>,
}

impl<'a> From<&'a Member> for Slot<'a> {
    fn from(member: &'a Member) -> Self {
        Self {
            name: &member.name,
            r#type: member.r#type,
            default: member.default.as_ref(),
        }
    }
}

impl<'a> From<&'a Parameter> for Slot<'a> {
    fn from(parameter: &'a Parameter) -> Self {
        Self {
            name: &parameter.name,
            r#type: parameter.r#type,
            default: None,
        }
    }
}

/// Whose members, parameters or results slots are, for a message.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    /// The type id, or the name of the operation.
    pub(crate) name: &'a str,
    /// What one of them is called.
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
