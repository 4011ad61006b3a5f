//! The proxy of an interface: a method for every operation, inherited ones included, which returns a call.

use floe_slice::model::{DefinitionId, Operation, OperationMode};
use proc_macro2::TokenStream;
use quote::quote;

use super::values::Values;
use super::{
    bases, error_type, is_object, is_sliced, operation_docs, operation_ident, result_type,
};
use crate::names;
use crate::rust::docs::{deprecated, docs};
use crate::rust::scope::{Scope, type_name};

/// The proxy type, its methods, and its conversions.
pub(super) fn proxy(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let definition = scope.model.definition(id);
    let root = scope.root();
    let name = names::ident(&format!("{}Proxy", type_name(definition)));
    let summary = format!("Proxy to an object with interface `{}`.", definition.scoped);
    let summary = docs(None, &summary);
    let about = definition.doc.as_deref().map(|doc| {
        let about = docs(Some(doc), "");
        quote!(#[doc = ""] #about)
    });
    let deprecated = deprecated(&definition.metadata);
    let operations = scope.model.all_operations(id);
    let methods = operations
        .iter()
        .map(|(declaring, operation)| method(scope, *declaring, operation));
    let methods = (!operations.is_empty()).then(|| quote!(impl #name { #(#methods)* }));
    let scoped = &definition.scoped;
    let bases = all_bases(scope, id);
    quote! {
        #summary
        #about
        #deprecated
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct #name(#root::Proxy);
        #root::codegen::proxy!(#name = #scoped #(, #bases)*);
        #methods
    }
}

fn method(scope: &Scope<'_>, declaring: DefinitionId, operation: &Operation) -> TokenStream {
    let root = scope.root();
    let docs = operation_docs(operation);
    let (method, name) = (operation_ident(operation), &operation.name);
    let kind = match operation.mode() {
        OperationMode::Normal => quote!(operation),
        OperationMode::Nonmutating => quote!(nonmutating),
        OperationMode::Idempotent => quote!(idempotent),
    };
    let returns_data = operation.returns_data();
    let results = result_type(scope, operation);
    let error = error_type(scope, declaring, operation);
    let values = Values::inputs(operation);
    let inputs = values.names();
    let types = values.as_written.iter().map(|value| value.borrowed(scope));
    // A lifetime needs a name only if a parameter is borrowed, too.
    let is_named = values.borrow(scope);
    let lifetime = match is_named {
        true => quote!('call),
        false => quote!('_),
    };
    let generics = is_named.then(|| quote!(<#lifetime>));
    let borrow = is_named.then(|| quote!(#lifetime));
    let decode = Values::results(operation).decode(scope);
    let is_sliced = is_sliced(scope, declaring, operation);
    let (parameters, parameter_types) = values.as_parameters(scope, is_sliced);
    quote! {
        #docs
        pub fn #method #generics(
            &#borrow self #(, #inputs: #types)*
        ) -> #root::Call<#lifetime, #results, #error, #parameter_types> {
            const OPERATION: #root::codegen::OperationInfo = #root::codegen::#kind(#name, #returns_data);
            #root::codegen::call(&self.0, &OPERATION, #parameters, #decode)
        }
    }
}

/// The proxies of every base.
fn all_bases(scope: &Scope<'_>, id: DefinitionId) -> Vec<TokenStream> {
    if bases(scope, id).is_empty() {
        return Vec::new();
    }
    let is_base = |base: &DefinitionId| *base != id && is_object(scope, *base);
    let bases = scope.model.linearized(id).into_iter().filter(is_base);
    bases.map(|base| scope.path(base, "Proxy")).collect()
}
