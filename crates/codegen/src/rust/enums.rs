//! Enumerations.

use floe_slice::model::{Definition, Enum, Enumerator};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::constants::integer;
use super::derive;
use super::docs::{deprecated, docs, named};
use super::scope::{Scope, spelled, type_name};
use crate::names;

/// The enum, its conversions from and to numbers, and its encoding.
pub(super) fn enumeration(scope: &Scope<'_>, definition: &Definition, of: &Enum) -> TokenStream {
    let (root, declaration) = (scope.root(), declaration(definition, of));
    let name = names::ident(&type_name(definition));
    let scoped = &definition.scoped;
    let enumerators = of.enumerators.iter().map(variant_ident);
    quote! {
        #declaration
        #root::codegen::enumeration!(#name = #scoped { #(#enumerators),* });
    }
}

fn declaration(definition: &Definition, of: &Enum) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("Slice enumeration `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let variants = of.enumerators.iter().enumerate().map(variant);
    let derives = derive::with_own(&DERIVES, &definition.metadata);
    quote! {
        #docs
        #deprecated
        #[derive(#derives)]
        #[repr(i32)]
        pub enum #name { #(#variants)* }
    }
}

fn variant((index, enumerator): (usize, &Enumerator)) -> TokenStream {
    let docs = named(
        enumerator.doc.as_deref(),
        "enumerator",
        &enumerator.name,
        &enumerator.metadata,
    );
    let deprecated = deprecated(&enumerator.metadata);
    let default = (index == 0).then(|| quote!(#[default]));
    let (name, value) = (variant_ident(enumerator), integer(enumerator.value.into()));
    quote!(#docs #deprecated #default #name = #value,)
}

/// The identifier of an enumerator.
pub(super) fn variant_ident(enumerator: &Enumerator) -> Ident {
    names::ident(&spelled(
        &enumerator.name,
        &enumerator.metadata,
        names::upper_camel,
    ))
}

const DERIVES: [&str; 9] = [
    "Debug",
    "Clone",
    "Copy",
    "PartialEq",
    "Eq",
    "Hash",
    "PartialOrd",
    "Ord",
    "Default",
];
