//! Derives: those that every type has, and those that `["rust:derive:..."]` adds.

use floe_slice::model::Metadata;
use proc_macro2::TokenStream;
use quote::quote;

use crate::names;

/// The list of an attribute `derive`: `usual`, then what the metadata add and `usual` lacks.
pub(super) fn with_own(usual: &[&str], metadata: &[Metadata]) -> TokenStream {
    let usual_idents = usual.iter().map(|name| names::ident(name));
    let added = metadata
        .iter()
        .flat_map(paths)
        .filter(|path| !usual.contains(path))
        .filter_map(|path| path.parse::<TokenStream>().ok());
    quote!(#(#usual_idents),* #(, #added)*)
}

/// The paths that a directive lists.
pub(super) fn paths(metadata: &Metadata) -> impl Iterator<Item = &str> {
    let list = metadata.text.strip_prefix("rust:derive:");
    list.into_iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
}
