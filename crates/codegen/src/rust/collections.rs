//! Named sequences and dictionaries: type aliases.

use floe_slice::model::{Definition, Dictionary, Sequence};
use proc_macro2::TokenStream;
use quote::quote;

use super::docs::{deprecated, docs};
use super::scope::{Scope, type_name};
use crate::names;

/// `pub type Numbers = Vec<i32>;`
pub(super) fn sequence(scope: &Scope<'_>, definition: &Definition, of: &Sequence) -> TokenStream {
    let (vec, element) = (scope.prelude("Vec"), scope.owned(of.element));
    alias(definition, "sequence", &quote!(#vec<#element>))
}

/// `pub type Ages = BTreeMap<String, i32>;`
pub(super) fn dictionary(
    scope: &Scope<'_>,
    definition: &Definition,
    of: &Dictionary,
) -> TokenStream {
    let (key, value) = (scope.owned(of.key), scope.owned(of.value));
    alias(
        definition,
        "dictionary",
        &quote!(::std::collections::BTreeMap<#key, #value>),
    )
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
