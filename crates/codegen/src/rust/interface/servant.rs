//! The trait that a servant implements.

use floe_slice::model::{DefinitionId, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::values::Values;
use super::{bases, error_type, operation_docs, operation_ident, parameter_names, result_type};
use crate::names;
use crate::rust::docs::{deprecated, docs};
use crate::rust::scope::{Scope, servant_name};

/// The trait, and its implementation for a shared servant.
pub(super) fn servant(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let definition = scope.model.definition(id);
    let name = names::ident(&servant_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("A servant with interface `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let (send, sync) = (scope.prelude("Send"), scope.prelude("Sync"));
    let bases = bases(scope, id).into_iter().map(|base| scope.servant(base));
    let operations = scope.model.own_operations(id);
    let signatures: Vec<TokenStream> = operations
        .iter()
        .map(|operation| signature(scope, id, operation))
        .collect();
    let operation_docs = operations
        .iter()
        .map(|operation| operation_docs(definition, operation));
    let servant = scope.type_parameter();
    let forwards = operations
        .iter()
        .map(|operation| forward(&name, &servant, operation));
    quote! {
        #docs
        #deprecated
        pub trait #name: #(#bases +)* #send + #sync + 'static {
            #(#operation_docs #signatures;)*
        }
        impl<#servant: #name> #name for ::std::sync::Arc<#servant> {
            #(#signatures { #forwards })*
        }
    }
}

pub(super) fn signature(
    scope: &Scope<'_>,
    interface: DefinitionId,
    operation: &Operation,
) -> TokenStream {
    let (root, result, send) = (scope.root(), scope.prelude("Result"), scope.prelude("Send"));
    let method = operation_ident(operation);
    let values = Values::inputs(operation);
    let inputs = values.names();
    let types = values.as_written.iter().map(|value| value.owned(scope));
    let current = current_ident(operation);
    let results = result_type(scope, operation);
    let error = error_type(scope, interface, operation);
    quote! {
        fn #method(&self, #(#inputs: #types,)* #current: &#root::Current)
            -> impl ::std::future::Future<Output = #result<#results, #error>> + #send
    }
}

fn forward(name: &Ident, servant: &Ident, operation: &Operation) -> TokenStream {
    let (method, values) = (operation_ident(operation), Values::inputs(operation));
    let inputs = values.names();
    let current = current_ident(operation);
    quote!(<#servant as #name>::#method(self, #(#inputs,)* #current))
}

pub(super) fn current_ident(operation: &Operation) -> Ident {
    names::fresh("current", &parameter_names(operation))
}
