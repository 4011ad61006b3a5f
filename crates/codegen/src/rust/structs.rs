//! Structures, and the members that they share with exceptions.

use floe_slice::model::{ConstValue, Definition, Member, Struct};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::constants::expression;
use super::docs::{deprecated, docs};
use super::scope::{Scope, snake_ident, type_name};
use super::types::is_inexact;
use crate::names;

/// The struct and its encoding.
pub(super) fn structure(scope: &Scope<'_>, definition: &Definition, of: &Struct) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let members: Vec<&Member> = of.members.iter().collect();
    let declaration = declaration(scope, definition, "structure", &members);
    let idents: Vec<Ident> = members.iter().map(|member| member_ident(member)).collect();
    let types: Vec<TokenStream> = members
        .iter()
        .map(|member| scope.owned(member.r#type))
        .collect();
    // Slice has no empty structs, but a model with errors may.
    let min_len = match types.as_slice() {
        [] => quote!(0),
        types => quote!(#(<#types as #root::Decode>::MIN_WIRE_LEN)+*),
    };
    quote! {
        #declaration
        impl #root::Encode for #name {
            fn encode(&self, encoder: &mut #root::Encoder<'_>) {
                #(encoder.put(&self.#idents);)*
            }
        }
        impl #root::Decode for #name {
            const MIN_WIRE_LEN: usize = #min_len;
            fn decode(decoder: &mut #root::Decoder<'_>) -> #result<Self, #root::DecodeError> {
                Ok(Self { #(#idents: decoder.get()?,)* })
            }
        }
    }
}

/// The struct with its derives, and its `Default` where members have one of their own.
pub(super) fn declaration(
    scope: &Scope<'_>,
    definition: &Definition,
    kind: &str,
    members: &[&Member],
) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("Slice {kind} `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let fields = members.iter().map(|member| field(scope, member));
    let derives = derives(scope, members);
    let default = has_own_default(members).then(|| default(scope, &name, members));
    quote! {
        #docs
        #deprecated
        #[derive(#derives)]
        pub struct #name { #(#fields)* }
        #default
    }
}

/// The identifier of a member.
pub(super) fn member_ident(member: &Member) -> Ident {
    snake_ident(&member.name, &member.metadata)
}

fn field(scope: &Scope<'_>, member: &Member) -> TokenStream {
    let docs = docs(
        member.doc.as_deref(),
        &format!("Slice member `{}`.", member.name),
    );
    let deprecated = deprecated(&member.metadata);
    let (name, r#type) = (member_ident(member), scope.owned(member.r#type));
    quote!(#docs #deprecated pub #name: #r#type,)
}

fn derives(scope: &Scope<'_>, members: &[&Member]) -> TokenStream {
    let mut derives = quote!(Debug, Clone, PartialEq);
    let is_exact = |member: &&Member| !is_inexact(scope.inexact, member.r#type);
    if members.iter().all(is_exact) {
        derives.extend(quote!(, Eq, Hash, PartialOrd, Ord));
    }
    if !has_own_default(members) {
        derives.extend(quote!(, Default));
    }
    derives
}

fn has_own_default(members: &[&Member]) -> bool {
    let mut defaults = members.iter().filter_map(|member| member.default.as_ref());
    defaults.any(|value| !is_zero(value))
}

/// Whether a value is what `Default` gives anyway.
fn is_zero(value: &ConstValue) -> bool {
    match value {
        ConstValue::Bool(value) => !value,
        ConstValue::Integer(value) => *value == 0,
        ConstValue::Float(value) => value.to_bits() == 0,
        ConstValue::String(text) => text.is_empty(),
        ConstValue::Enumerator { index, .. } => *index == 0,
    }
}

/// `impl Default` with the defaults of the contract.
fn default(scope: &Scope<'_>, name: &Ident, members: &[&Member]) -> TokenStream {
    let fields = members.iter().map(|member| {
        let name = member_ident(member);
        let value = match &member.default {
            Some(value @ ConstValue::String(_)) => {
                let (string, text) = (
                    scope.prelude("String"),
                    expression(scope, member.r#type, value),
                );
                quote!(#string::from(#text))
            }
            Some(value) => expression(scope, member.r#type, value),
            None => quote!(::std::default::Default::default()),
        };
        quote!(#name: #value,)
    });
    quote! {
        impl ::std::default::Default for #name {
            fn default() -> Self {
                Self { #(#fields)* }
            }
        }
    }
}
