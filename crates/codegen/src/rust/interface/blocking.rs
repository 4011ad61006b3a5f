//! The trait that a servant without async implements.

use floe_slice::model::{DefinitionId, Operation};
use proc_macro2::TokenStream;
use quote::quote;

use super::servant::{current_ident, signature};
use super::values::Values;
use super::{bases, error_type, operation_docs, operation_ident, result_type};
use crate::names;
use crate::rust::docs::{deprecated, docs};
use crate::rust::scope::{Scope, servant_name, type_name};

/// The trait, and what makes an ordinary servant and a dispatcher of it.
pub(super) fn blocking(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let definition = scope.model.definition(id);
    let root = scope.root();
    let interface = names::ident(&servant_name(definition));
    let name = names::ident(&format!("{}Blocking", servant_name(definition)));
    let dispatcher = names::ident(&format!("{}Dispatcher", type_name(definition)));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("A servant with interface `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let (send, sync) = (scope.prelude("Send"), scope.prelude("Sync"));
    let bases = bases(scope, id)
        .into_iter()
        .map(|base| scope.blocking_servant(base));
    let operations = scope.model.own_operations(id);
    let plain = operations
        .iter()
        .map(|operation| plain_signature(scope, id, operation));
    let operation_docs = operations
        .iter()
        .map(|operation| operation_docs(definition, operation));
    let servant = scope.type_parameter();
    let signatures = operations
        .iter()
        .map(|operation| signature(scope, id, operation));
    let forwards = operations.iter().map(|operation| {
        let (method, values) = (operation_ident(operation), Values::inputs(operation));
        let (inputs, current) = (values.names(), current_ident(operation));
        quote!(::std::future::ready(<#servant as #name>::#method(&self.0, #(#inputs,)* #current)))
    });
    quote! {
        #docs
        ///
        /// Its functions block the thread that reads the connection: for servers of
        /// `floe::blocking`.
        #deprecated
        pub trait #name: #(#bases +)* #send + #sync + 'static {
            #(#operation_docs #plain;)*
        }
        impl<#servant: #name> #interface for #root::blocking::Servant<#servant> {
            #(#signatures { #forwards })*
        }
        impl<#servant: #name> #dispatcher<#root::blocking::Servant<#servant>> {
            /// A dispatcher to this servant without async.
            pub fn blocking(servant: #servant) -> Self {
                Self::new(#root::blocking::Servant(servant))
            }
        }
    }
}

fn plain_signature(
    scope: &Scope<'_>,
    interface: DefinitionId,
    operation: &Operation,
) -> TokenStream {
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let method = operation_ident(operation);
    let values = Values::inputs(operation);
    let inputs = values.names();
    let types = values.as_written.iter().map(|value| value.owned(scope));
    let current = current_ident(operation);
    let results = result_type(scope, operation);
    let error = error_type(scope, interface, operation);
    quote! {
        fn #method(&self, #(#inputs: #types,)* #current: &#root::Current)
            -> #result<#results, #error>
    }
}
