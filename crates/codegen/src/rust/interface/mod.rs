//! Interfaces: a proxy to call them, a trait to serve them, a dispatcher that joins the trait to an
//! adapter, and an error enum for every operation that declares exceptions.

mod dispatcher;
mod error;
mod proxy;
mod servant;

use floe_slice::model::{Definition, DefinitionId, Interface, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::docs::{self, deprecated};
use super::scope::{Scope, error_name, snake_ident};
use crate::names;

/// Everything that an interface becomes.
pub(super) fn interface(scope: &Scope<'_>, id: DefinitionId, of: &Interface) -> TokenStream {
    let definition = scope.model.definition(id);
    let errors = of
        .operations
        .iter()
        .filter(|operation| !operation.throws.is_empty())
        .map(|operation| error::error(scope, definition, operation));
    let proxy = proxy::proxy(scope, id, of);
    let servant = servant::servant(scope, id, of);
    let dispatcher = dispatcher::dispatcher(scope, id);
    quote! {
        #(#errors)*
        #proxy
        #servant
        #dispatcher
    }
}

/// The identifiers of the in-parameters.
fn input_idents(operation: &Operation) -> Vec<Ident> {
    operation
        .inputs()
        .map(|parameter| snake_ident(&parameter.name, &parameter.metadata))
        .collect()
}

/// The identifiers of the out-parameters.
fn output_idents(operation: &Operation) -> Vec<Ident> {
    operation
        .outputs()
        .map(|parameter| snake_ident(&parameter.name, &parameter.metadata))
        .collect()
}

/// The names that locals of generated code have to avoid.
fn parameter_names(operation: &Operation) -> Vec<String> {
    operation
        .parameters
        .iter()
        .map(|parameter| snake_ident(&parameter.name, &parameter.metadata).to_string())
        .collect()
}

/// What a call gives: the return value and the out-parameters, in this order, as one type.
fn result_type(scope: &Scope<'_>, operation: &Operation) -> TokenStream {
    let returned = operation
        .returns
        .iter()
        .map(|returned| scope.owned(returned.r#type));
    let outputs = operation
        .outputs()
        .map(|parameter| scope.owned(parameter.r#type));
    let types: Vec<TokenStream> = returned.chain(outputs).collect();
    tuple(&types)
}

/// One item as it is, any other number as a tuple.
fn tuple<T: quote::ToTokens>(items: &[T]) -> TokenStream {
    match items {
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    }
}

/// The results in the order of [`result_type`], and in that of the wire: the return value last.
struct Results {
    as_returned: Vec<Ident>,
    as_encoded: Vec<Ident>,
}

impl Results {
    fn of(operation: &Operation) -> Self {
        let outputs = output_idents(operation);
        let returned = operation
            .returns
            .iter()
            .map(|_| names::fresh("returned", &parameter_names(operation)));
        let returned: Vec<Ident> = returned.collect();
        Self {
            as_returned: returned.iter().chain(&outputs).cloned().collect(),
            as_encoded: outputs.iter().chain(&returned).cloned().collect(),
        }
    }
}

/// The types of the results in the order of the wire.
fn encoded_types(scope: &Scope<'_>, operation: &Operation) -> Vec<TokenStream> {
    let outputs = operation
        .outputs()
        .map(|parameter| scope.owned(parameter.r#type));
    let returned = operation
        .returns
        .iter()
        .map(|returned| scope.owned(returned.r#type));
    outputs.chain(returned).collect()
}

/// The error type of an operation that `interface` declares.
fn error_type(scope: &Scope<'_>, interface: DefinitionId, operation: &Operation) -> TokenStream {
    if operation.throws.is_empty() {
        let root = scope.root();
        return quote!(#root::InvokeError);
    }
    let definition = scope.model.definition(interface);
    let whole = error_name(definition, &operation.name, &operation.metadata);
    let suffix = &whole[super::scope::type_name(definition).len()..];
    scope.path(interface, suffix)
}

fn operation_ident(operation: &Operation) -> Ident {
    snake_ident(&operation.name, &operation.metadata)
}

fn operation_docs(interface: &Definition, operation: &Operation) -> TokenStream {
    let scoped = &interface.scoped;
    let docs = docs::operation_docs(
        operation,
        &format!("Slice operation `{}` of `{scoped}`.", operation.name),
    );
    let deprecated = deprecated(&operation.metadata);
    quote!(#docs #deprecated)
}

fn operation_mode(scope: &Scope<'_>, operation: &Operation) -> TokenStream {
    let root = scope.root();
    if operation.is_idempotent {
        quote!(#root::OperationMode::Idempotent)
    } else {
        quote!(#root::OperationMode::Normal)
    }
}
