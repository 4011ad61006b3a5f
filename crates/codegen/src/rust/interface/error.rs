//! The error enum of an operation: its exceptions, and what else can go wrong with a call.

use floe_slice::model::{Definition, DefinitionId, Model, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::names;
use crate::rust::scope::{Scope, error_name, type_name};

/// The enum, its conversions and its encoding.
pub(super) fn error(
    scope: &Scope<'_>,
    interface: &Definition,
    operation: &Operation,
) -> TokenStream {
    let name = names::ident(&error_name(interface, &operation.name, &operation.metadata));
    let variants = variants(scope.model, operation);
    let declaration = declaration(scope, interface, operation, &name, &variants);
    let root = scope.root();
    let exceptions = variants.iter().map(|(id, variant)| {
        let path = scope.path(*id, "");
        quote!(#variant(#path))
    });
    let table = scope.class_table();
    let classes = table.map(|table| quote!(classes #table));
    quote! {
        #declaration
        #root::codegen::errors!(#name { #(#exceptions),* } #classes);
    }
}

/// The exceptions of an operation with the names of their variants: the declared ones, then every
/// known one that derives from them, so that a servant can fail with it and a caller sees it.
fn variants(model: &Model, operation: &Operation) -> Vec<(DefinitionId, Ident)> {
    let mut exceptions = operation.throws.clone();
    for declared in &operation.throws {
        for derived in model.derived_exceptions(*declared) {
            if !exceptions.contains(&derived) {
                exceptions.push(derived);
            }
        }
    }
    let short = |id: &DefinitionId| type_name(model.definition(*id));
    let is_shared = |id: &DefinitionId| {
        let name = short(id);
        name == "Invoke"
            || exceptions
                .iter()
                .filter(|other| short(other) == name)
                .count()
                > 1
    };
    exceptions
        .iter()
        .map(|id| {
            let modules = &model.definition(*id).modules;
            let prefix = if is_shared(id) {
                modules
                    .iter()
                    .map(|module| names::upper_camel(module))
                    .collect()
            } else {
                String::new()
            };
            (*id, names::ident(&format!("{prefix}{}", short(id))))
        })
        .collect()
}

fn declaration(
    scope: &Scope<'_>,
    interface: &Definition,
    operation: &Operation,
    name: &Ident,
    variants: &[(DefinitionId, Ident)],
) -> TokenStream {
    let root = scope.root();
    let doc = format!(
        " What a call of `{}` of `{}` fails with.",
        operation.name, interface.scoped
    );
    let variants = variants.iter().map(|(id, variant)| {
        let doc = format!(" User exception `{}`.", scope.model.definition(*id).scoped);
        let path = scope.path(*id, "");
        quote!(#[doc = #doc] #variant(#path),)
    });
    quote! {
        #[doc = #doc]
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum #name {
            #(#variants)*
            /// Anything but a declared user exception.
            Invoke(#root::InvokeError),
        }
    }
}
