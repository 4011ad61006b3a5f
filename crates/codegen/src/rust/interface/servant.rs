//! The trait that a servant implements.

use floe_slice::model::{DefinitionId, Interface, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{
    error_type, input_idents, operation_docs, operation_ident, parameter_names, result_type,
};
use crate::names;
use crate::rust::docs::{deprecated, docs};
use crate::rust::scope::{Scope, type_name};

/// The trait, and its implementation for a shared servant.
pub(super) fn servant(scope: &Scope<'_>, id: DefinitionId, of: &Interface) -> TokenStream {
    let definition = scope.model.definition(id);
    let name = names::ident(&type_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("A servant with interface `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let (send, sync) = (scope.prelude("Send"), scope.prelude("Sync"));
    let bases = of.bases.iter().map(|base| scope.path(*base, ""));
    let signatures: Vec<TokenStream> = of
        .operations
        .iter()
        .map(|operation| signature(scope, id, operation))
        .collect();
    let operation_docs = of
        .operations
        .iter()
        .map(|operation| operation_docs(definition, operation));
    let servant = scope.type_parameter();
    let forwards = of
        .operations
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

fn signature(scope: &Scope<'_>, interface: DefinitionId, operation: &Operation) -> TokenStream {
    let (root, result, send) = (scope.root(), scope.prelude("Result"), scope.prelude("Send"));
    let method = operation_ident(operation);
    let inputs = input_idents(operation);
    let types = operation
        .inputs()
        .map(|parameter| scope.owned(parameter.r#type));
    let current = current_ident(operation);
    let results = result_type(scope, operation);
    let error = error_type(scope, interface, operation);
    quote! {
        fn #method(&self, #(#inputs: #types,)* #current: &#root::Current)
            -> impl ::std::future::Future<Output = #result<#results, #error>> + #send
    }
}

fn forward(name: &Ident, servant: &Ident, operation: &Operation) -> TokenStream {
    let (method, inputs) = (operation_ident(operation), input_idents(operation));
    let current = current_ident(operation);
    quote!(<#servant as #name>::#method(self, #(#inputs,)* #current))
}

fn current_ident(operation: &Operation) -> Ident {
    names::fresh("current", &parameter_names(operation))
}
