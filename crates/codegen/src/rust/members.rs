//! Data members: what structures, classes and exceptions share.
//!
//! On the wire the members that are always there come first, in order of declaration, and then the
//! tagged ones, in order of their tags.

use floe_slice::model::{ConstValue, Definition, DefinitionKind, Member};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::constants::expression;
use super::derive;
use super::docs::{deprecated, docs, named};
use super::scope::{Scope, snake_ident, type_name};
use crate::names;

/// A struct in the making: its members, and the field in front of them: the base of a class, or the
/// unknown slices of an exception.
pub(super) struct Fields<'a> {
    /// The members, inherited ones of an exception first.
    pub(super) members: Vec<&'a Member>,
    /// Name, type and text of the field in front of them.
    pub(super) front: Option<(Ident, TokenStream, String)>,
}

/// The struct with its derives, and its `Default` where members have one of their own.
pub(super) fn declaration(
    scope: &Scope<'_>,
    definition: &Definition,
    kind: &str,
    fields: &Fields<'_>,
) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("Slice {kind} `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let is_class = matches!(definition.kind, DefinitionKind::Class(_));
    let is_exact = !is_class && fields.front.is_none();
    let derives = derives(scope, &fields.members, is_exact);
    let derives = derive::with_own(&derives, &definition.metadata);
    let front = fields
        .front
        .iter()
        .map(|(name, r#type, doc)| quote!(#[doc = #doc] pub #name: #r#type,));
    let members = fields.members.iter().map(|member| field(scope, member));
    let default = has_own_default(scope, &fields.members).then(|| default(scope, &name, fields));
    quote! {
        #docs
        #deprecated
        #[derive(#derives)]
        pub struct #name { #(#front)* #(#members)* }
        #default
    }
}

/// The identifier of a member.
pub(super) fn member_ident(member: &Member) -> Ident {
    snake_ident(&member.name, &member.metadata)
}

/// The members as they come on the wire, with their places among `members`.
pub(super) fn in_wire_order(members: &[Member]) -> Vec<(usize, &Member)> {
    let mut ordered: Vec<(usize, &Member)> = members.iter().enumerate().collect();
    ordered.sort_by_key(|(_, member)| member.tag.map_or((0, 0), |tag| (1, tag)));
    ordered
}

/// The statements that encode the members of `self`.
pub(super) fn puts(members: &[Member]) -> TokenStream {
    let puts = in_wire_order(members).into_iter().map(|(_, member)| {
        let name = member_ident(member);
        match member.tag {
            None => quote!(encoder.put(&self.#name);),
            Some(tag) => {
                let tag = tag_literal(tag);
                quote!(encoder.tagged(#tag, self.#name.as_ref());)
            }
        }
    });
    quote!(#(#puts)*)
}

/// The statement that decodes members into locals of their names: `read` takes the closure that decodes them.
pub(super) fn gets(
    members: &[Member],
    read: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    let ordered = in_wire_order(members);
    let locals = ordered.iter().map(|(_, member)| member_ident(member));
    let locals: Vec<Ident> = locals.collect();
    let gets: Vec<TokenStream> = ordered.iter().map(|(_, member)| get(member.tag)).collect();
    match (locals.as_slice(), gets.as_slice()) {
        ([], _) => {
            let read = read(quote!(|_| Ok(())));
            quote!(#read?;)
        }
        ([local], [get]) => {
            let read = read(quote!(|decoder| #get));
            quote!(let #local = #read?;)
        }
        _ => {
            let read = read(quote!(|decoder| Ok((#(#gets?),*))));
            quote!(let (#(#locals),*) = #read?;)
        }
    }
}

fn get(tag: Option<i32>) -> TokenStream {
    match tag.map(tag_literal) {
        None => quote!(decoder.get()),
        Some(tag) => quote!(decoder.tagged(#tag)),
    }
}

/// A tag, which is never negative.
pub(super) fn tag_literal(tag: i32) -> Literal {
    Literal::u32_unsuffixed(tag.unsigned_abs())
}

fn field(scope: &Scope<'_>, member: &Member) -> TokenStream {
    let docs = named(
        member.doc.as_deref(),
        "member",
        &member.name,
        &member.metadata,
    );
    let deprecated = deprecated(&member.metadata);
    let name = member_ident(member);
    let r#type = match member.tag {
        Some(_) => scope.owned_or_unset(member.r#type, member.tag),
        None => scope.held(member.r#type, &member.metadata),
    };
    quote!(#docs #deprecated pub #name: #r#type,)
}

/// No class is compared exactly: one that it comes to extend later may not be. Neither are unknown slices.
fn derives(scope: &Scope<'_>, members: &[&Member], is_exact: bool) -> Vec<&'static str> {
    let mut derives = vec!["Debug", "Clone", "PartialEq"];
    let has_order = |member: &&Member| !scope.facts.is_inexact(member.r#type);
    if is_exact && members.iter().all(has_order) {
        derives.extend(["Eq", "Hash", "PartialOrd", "Ord"]);
    }
    if has_default(scope, members) && !has_own_default(scope, members) {
        derives.push("Default");
    }
    derives
}

/// Returns true if every member has a default.
pub(super) fn has_default(scope: &Scope<'_>, members: &[&Member]) -> bool {
    let mut members = members.iter();
    !members.any(|member| scope.facts.is_without_default(member))
}

fn has_own_default(scope: &Scope<'_>, members: &[&Member]) -> bool {
    has_default(scope, members)
        && members.iter().any(|member| match &member.default {
            Some(value) => member.tag.is_some() || !is_zero(value),
            None => false,
        })
}

/// Returns true if a value is what `Default` gives anyway.
fn is_zero(value: &ConstValue) -> bool {
    match value {
        ConstValue::Bool(value) => !value,
        ConstValue::Integer(value) => *value == 0,
        ConstValue::Float(value) => value.to_bits() == 0,
        ConstValue::String(text) => text.is_empty(),
        ConstValue::Enumerator { index, .. } => *index == 0,
    }
}

/// The defaults of the contract; an optional member with one is set at first.
fn default(scope: &Scope<'_>, name: &Ident, fields: &Fields<'_>) -> TokenStream {
    let root = scope.root();
    let front = fields.front.iter().map(|(name, ..)| quote!(#name));
    let members = fields.members.iter().map(|member| {
        let name = member_ident(member);
        let value = default_value(scope, member).map(|value| quote!(= #value));
        quote!(#name #value)
    });
    let members = front.chain(members);
    quote!(#root::codegen::defaults!(#name { #(#members),* });)
}

fn default_value(scope: &Scope<'_>, member: &Member) -> Option<TokenStream> {
    let value = member.default.as_ref()?;
    let mut expression = expression(scope, member.r#type, value);
    if let ConstValue::String(_) = value {
        let string = scope.prelude("String");
        expression = quote!(#string::from(#expression));
    }
    Some(match member.tag {
        Some(_) => quote!(Some(#expression)),
        None => expression,
    })
}
