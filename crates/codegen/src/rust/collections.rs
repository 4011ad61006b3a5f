//! Named sequences and dictionaries: type aliases, to what `containers.rs` chooses.

use floe_slice::model::{Definition, Dictionary, Sequence};
use proc_macro2::TokenStream;
use quote::quote;

use super::containers::{Container, applied};
use super::docs::{deprecated, docs};
use super::scope::{Scope, type_name};
use crate::names;

/// `pub type Numbers = Vec<i32>;`
pub(super) fn sequence(scope: &Scope<'_>, definition: &Definition, of: &Sequence) -> TokenStream {
    let (root, vec) = (scope.root(), scope.prelude("Vec"));
    let element = scope.held(of.element, &definition.metadata);
    let target = match Container::of(definition) {
        Container::Usual => quote!(#vec<#element>),
        Container::Bytes => quote!(#root::Bytes),
        Container::Named(path) => chosen(path, &[element]),
    };
    alias(definition, "sequence", &target)
}

/// `pub type Ages = BTreeMap<String, i32>;`
pub(super) fn dictionary(
    scope: &Scope<'_>,
    definition: &Definition,
    of: &Dictionary,
) -> TokenStream {
    let key = scope.owned(of.key);
    let value = scope.held(of.value, &definition.metadata);
    let target = match Container::of(definition) {
        Container::Usual | Container::Bytes => quote!(::std::collections::BTreeMap<#key, #value>),
        Container::Named(path) => chosen(path, &[key, value]),
    };
    alias(definition, "dictionary", &target)
}

fn chosen(path: &str, parameters: &[TokenStream]) -> TokenStream {
    applied(path, parameters).expect("check.rs refuses what is no type")
}

fn alias(definition: &Definition, kind: &str, target: &TokenStream) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("Slice {kind} `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    quote!(#docs #deprecated pub type #name = #target;)
}
