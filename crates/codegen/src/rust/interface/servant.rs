//! The trait that a servant implements.

use floe_slice::model::{DefinitionId, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::values::Values;
use super::{bases, error_type, operation_docs, operation_ident, parameter_names, result_type};
use crate::names;
use crate::rust::docs::{deprecated, docs};
use crate::rust::scope::{Scope, servant_name, type_name};

/// The trait, and its implementation for a shared servant; one without async as well, if that is wanted.
pub(super) fn servant(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let (root, definition) = (scope.root(), scope.model.definition(id));
    let name = names::ident(&servant_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("A servant with interface `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let bases = extended(bases(scope, id).into_iter().map(|base| scope.servant(base)));
    let operations = scope.model.own_operations(id);
    let operation_docs = operations.iter().map(operation_docs);
    let functions = operations
        .iter()
        .map(|operation| function(scope, id, operation));
    let blocking = scope.options.is_blocking().then(|| blocking(scope, id));
    quote! {
        #root::codegen::servant! {
            #docs
            #deprecated
            pub trait #name #bases {
                #(#operation_docs #functions)*
            }
            #blocking
        }
    }
}

fn function(scope: &Scope<'_>, interface: DefinitionId, operation: &Operation) -> TokenStream {
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let method = operation_ident(operation);
    let values = Values::inputs(operation);
    let inputs = values.names();
    let types = values.as_written.iter().map(|value| value.owned(scope));
    let current = current_ident(operation);
    let results = result_type(scope, operation);
    let error = error_type(scope, interface, operation);
    quote! {
        async fn #method(&self, #(#inputs: #types,)* #current: &#root::Current) -> #result<#results, #error>;
    }
}

/// The trait without async, and the dispatcher that has servants with it.
fn blocking(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let definition = scope.model.definition(id);
    let name = names::ident(&format!("{}Blocking", servant_name(definition)));
    let bases = bases(scope, id).into_iter();
    let bases = extended(bases.map(|base| scope.blocking_servant(base)));
    let dispatcher = names::ident(&format!("{}Dispatcher", type_name(definition)));
    quote!(blocking #name #bases { #dispatcher })
}

/// Returns the supertraits of a trait, behind a colon.
fn extended(bases: impl Iterator<Item = TokenStream>) -> Option<TokenStream> {
    let bases: Vec<TokenStream> = bases.collect();
    (!bases.is_empty()).then(|| quote!(: #(#bases),*))
}

pub(super) fn current_ident(operation: &Operation) -> Ident {
    names::fresh("current", &parameter_names(operation))
}
