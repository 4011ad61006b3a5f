//! The events of an interface: an enum with a variant for each operation, which a subscription gives.
//!
//! Only an interface whose operations return nothing and throw nothing describes events: a publisher
//! gets no answer from subscribers.

use floe_slice::model::{DefinitionId, DefinitionKind, Operation};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::operation_mode;
use super::values::Values;
use crate::names;
use crate::rust::docs::{docs, named, operation_docs};
use crate::rust::scope::{Scope, spelled, type_name};

/// The enum and how it is decoded; nothing if the interface does not describe events.
pub(super) fn events(scope: &Scope<'_>, id: DefinitionId) -> Option<TokenStream> {
    let operations = scope.model.all_operations(id);
    let is_interface = matches!(
        scope.model.definition(id).kind,
        DefinitionKind::Interface(_)
    );
    let describes_events = is_interface
        && !operations.is_empty()
        && operations.iter().all(|(_, operation)| is_event(operation));
    describes_events.then(|| enumeration(scope, id, &operations))
}

fn is_event(operation: &Operation) -> bool {
    operation.returns.is_none()
        && operation.outputs().next().is_none()
        && operation.throws.is_empty()
}

fn enumeration(
    scope: &Scope<'_>,
    id: DefinitionId,
    operations: &[(DefinitionId, &Operation)],
) -> TokenStream {
    let (root, definition) = (scope.root(), scope.model.definition(id));
    let (option, result) = (scope.prelude("Option"), scope.prelude("Result"));
    let name = scope
        .facts
        .free_type_name(&format!("{}Event", type_name(definition)));
    let name = names::ident(&name);
    let summary = docs(
        None,
        &format!("An event of interface `{}`.", definition.scoped),
    );
    let mut taken = Vec::new();
    let events: Vec<Event<'_>> = operations
        .iter()
        .map(|(_, operation)| Event {
            scope,
            operation,
            variant: variant(operation, &mut taken),
            values: Values::inputs(operation),
        })
        .collect();
    let variants = events.iter().map(Event::declaration);
    let arms = events.iter().map(Event::arm);
    let (scoped, type_ids) = (&definition.scoped, scope.model.type_ids(id));
    quote! {
        #summary
        #[derive(Debug, Clone, PartialEq)]
        pub enum #name {
            #(#variants)*
        }
        impl #root::codegen::TypedEvent for #name {
            const TYPE_ID: &'static str = #scoped;
            const TYPE_IDS: &'static [&'static str] = &[#(#type_ids),*];
            fn decode(request: &#root::dispatch::Request) -> #option<#result<Self, #root::SystemException>> {
                Some(match request.operation_bytes() { #(#arms)* _ => return None, })
            }
        }
    }
}

/// An operation as a variant.
struct Event<'a> {
    scope: &'a Scope<'a>,
    operation: &'a Operation,
    variant: Ident,
    values: Values,
}

impl Event<'_> {
    /// A single parameter is the content of the variant, several are its fields.
    fn declaration(&self) -> TokenStream {
        let Self {
            scope,
            operation,
            variant,
            values,
        } = self;
        let types: Vec<_> = values.as_written.iter().map(|it| it.owned(scope)).collect();
        match types.as_slice() {
            [] | [_] => {
                let docs = operation_docs(operation);
                let content = (!types.is_empty()).then(|| quote!((#(#types)*)));
                quote!(#docs #variant #content,)
            }
            _ => {
                let about = named(
                    operation.doc.as_deref(),
                    "operation",
                    &operation.name,
                    &operation.metadata,
                );
                let fields = operation.inputs().zip(values.names()).zip(&types);
                let fields = fields.map(|((parameter, name), r#type)| {
                    let docs = docs(parameter.doc.as_deref(), "");
                    quote!(#docs #name: #r#type)
                });
                quote!(#about #variant { #(#fields),* },)
            }
        }
    }

    fn arm(&self) -> TokenStream {
        let Self {
            scope,
            operation,
            variant,
            values,
            ..
        } = self;
        let mode = operation_mode(scope, operation);
        let decode = values.decode(scope);
        let names = values.names();
        let name = Literal::byte_string(operation.name.as_bytes());
        match names.as_slice() {
            [] => quote!(#name => request.decode_nothing(#mode).map(|()| Self::#variant),),
            [_] => quote!(#name => request.decode(#mode, #decode).map(Self::#variant),),
            _ => quote! {
                #name => request
                    .decode(#mode, #decode)
                    .map(|(#(#names),*)| Self::#variant { #(#names),* }),
            },
        }
    }
}

/// The name of the variant. Operations whose names differ in Slice may be one in this spelling: later
/// ones get underscores.
fn variant(operation: &Operation, taken: &mut Vec<String>) -> Ident {
    let name = spelled(&operation.name, &operation.metadata, str::to_owned);
    let ident = names::fresh(&names::upper_camel(&name), taken);
    taken.push(ident.to_string());
    ident
}
