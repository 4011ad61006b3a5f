//! Structures.

use floe_slice::model::{Definition, Struct};
use proc_macro2::TokenStream;
use quote::quote;

use super::members::{Fields, declaration, member_ident};
use super::scope::{Scope, type_name};
use crate::names;

/// The struct and its encoding.
pub(super) fn structure(scope: &Scope<'_>, definition: &Definition, of: &Struct) -> TokenStream {
    let (root, name) = (scope.root(), names::ident(&type_name(definition)));
    let fields = Fields {
        members: of.members.iter().collect(),
        front: None,
    };
    let declaration = declaration(scope, definition, "structure", &fields);
    let members = of.members.iter().map(member_ident);
    quote! {
        #declaration
        #root::codegen::structure!(#name { #(#members),* });
    }
}
