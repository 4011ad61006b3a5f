//! Interfaces: a proxy to call them, a trait to serve them (and another one without async, if that is
//! wanted), a dispatcher that joins the trait to an adapter, error enums for operations that declare exceptions, and an
//! enum of the events if all operations are events.

mod dispatcher;
mod error;
mod events;
mod proxy;
mod servant;
mod values;

use floe_slice::model::{DefinitionId, DefinitionKind, Operation, OperationMode};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::docs::{self, deprecated};
use super::scope::{Scope, snake_ident};
use values::Values;

/// Everything that an interface becomes, or a class of Ice 3.7 besides its struct. One that is only
/// declared has proxies, which call nothing.
pub(super) fn interface(scope: &Scope<'_>, id: DefinitionId, is_complete: bool) -> TokenStream {
    let errors = scope.facts.errors.before(id);
    let errors = errors.map(|set| error::error(scope, set));
    let proxy = proxy::proxy(scope, id);
    let servant = is_complete.then(|| servant::servant(scope, id));
    let dispatcher = is_complete.then(|| dispatcher::dispatcher(scope, id));
    let events = events::events(scope, id);
    quote! {
        #(#errors)*
        #proxy
        #servant
        #dispatcher
        #events
    }
}

/// The bases that have proxies and servants: of a class that may be fewer than it extends.
fn bases(scope: &Scope<'_>, id: DefinitionId) -> Vec<DefinitionId> {
    let mut bases = scope.model.own_bases(id);
    bases.retain(|base| is_object(scope, *base));
    bases
}

/// Returns true if there are proxies and servants of an interface or class.
fn is_object(scope: &Scope<'_>, id: DefinitionId) -> bool {
    match scope.model.definition(id).kind {
        DefinitionKind::Class(_) => scope.facts.objects.contains(&id),
        _ => true,
    }
}

/// The names that locals of generated code have to avoid.
fn parameter_names(operation: &Operation) -> Vec<String> {
    operation
        .parameters
        .iter()
        .map(|parameter| snake_ident(&parameter.name, &parameter.metadata).to_string())
        .collect()
}

/// Returns the type of a call's result: the return value and the out-parameters, in this order, as one type.
fn result_type(scope: &Scope<'_>, operation: &Operation) -> TokenStream {
    let results = Values::results(operation).as_written;
    let types: Vec<TokenStream> = results.iter().map(|value| value.owned(scope)).collect();
    tuple(&types)
}

/// One item as it is, any other number as a tuple.
fn tuple<T: quote::ToTokens>(items: &[T]) -> TokenStream {
    match items {
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    }
}

/// The error type of an operation that `interface` declares.
fn error_type(scope: &Scope<'_>, interface: DefinitionId, operation: &Operation) -> TokenStream {
    if operation.throws.is_empty() {
        let root = scope.root();
        return quote!(#root::InvokeError);
    }
    let name = scope.facts.errors.name(scope.model, interface, operation);
    scope.beside(interface, &name)
}

fn operation_ident(operation: &Operation) -> Ident {
    snake_ident(&operation.name, &operation.metadata)
}

fn operation_docs(operation: &Operation) -> TokenStream {
    let docs = docs::operation_docs(operation);
    let deprecated = deprecated(&operation.metadata);
    quote!(#docs #deprecated)
}

fn operation_mode(scope: &Scope<'_>, operation: &Operation) -> TokenStream {
    let root = scope.root();
    match operation.mode() {
        OperationMode::Normal => quote!(#root::OperationMode::Normal),
        OperationMode::Nonmutating => quote!(#root::OperationMode::Nonmutating),
        OperationMode::Idempotent => quote!(#root::OperationMode::Idempotent),
    }
}

/// Returns the value of `["format:..."]` of an operation or, if it has none, of its interface.
fn format<'m>(scope: &Scope<'m>, declaring: DefinitionId, operation: &'m Operation) -> &'m str {
    let definition = scope.model.definition(declaring);
    let mut metadata = operation.metadata.iter().chain(&definition.metadata);
    metadata
        .find_map(|directive| directive.text.strip_prefix("format:"))
        .unwrap_or("default")
}

/// Returns true if class instances are sent with the sizes of their slices; compact is the default.
fn is_sliced(scope: &Scope<'_>, declaring: DefinitionId, operation: &Operation) -> bool {
    format(scope, declaring, operation) == "sliced"
}
