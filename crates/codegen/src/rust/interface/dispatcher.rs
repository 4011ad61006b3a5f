//! The dispatcher of an interface: from a request to the servant's method and back.

use floe_slice::model::{DefinitionId, Operation};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::values::Values;
use super::{format, is_sliced, operation_ident, operation_mode, parameter_names, tuple};
use crate::names;
use crate::rust::docs::docs;
use crate::rust::scope::{Scope, servant_name, type_name};

/// The dispatcher type; it answers all operations, inherited ones included.
pub(super) fn dispatcher(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let definition = scope.model.definition(id);
    let root = scope.root();
    let name = names::ident(&format!("{}Dispatcher", type_name(definition)));
    let summary = docs(
        None,
        &format!(
            "Dispatches requests to a servant with interface `{}`.",
            definition.scoped
        ),
    );
    let (servant, interface) = (
        scope.type_parameter(),
        names::ident(&servant_name(definition)),
    );
    let operations = scope.model.all_operations(id);
    let taken: Vec<String> = operations
        .iter()
        .flat_map(|(_, operation)| parameter_names(operation))
        .collect();
    let request = names::fresh("request", &taken);
    let arms = operations
        .iter()
        .map(|(declaring, operation)| Arm {
            scope,
            declaring: *declaring,
            operation,
            servant: &servant,
            request: &request,
        })
        .map(|arm| arm.tokens());
    let scoped = &definition.scoped;
    let type_ids = scope.model.type_ids(id);
    let builtin = quote!(#root::codegen::builtin(#request, #scoped, &[#(#type_ids),*]));
    let answer = match operations.is_empty() {
        true => builtin,
        false => quote!(match #request.operation_bytes() { #(#arms)* _ => #builtin, }),
    };
    quote! {
        #root::codegen::dispatcher! {
            #summary
            pub struct #name<#servant: #interface>;
        }
        impl<#servant: #interface> #root::codegen::Answer for #name<#servant> {
            async fn answer(&self, #request: #root::dispatch::Request) -> #root::codegen::Answered {
                #answer
            }
        }
    }
}

/// An operation in the match of its dispatcher.
struct Arm<'a> {
    scope: &'a Scope<'a>,
    declaring: DefinitionId,
    operation: &'a Operation,
    servant: &'a Ident,
    request: &'a Ident,
}

impl Arm<'_> {
    /// Decodes the parameters, calls the servant and encodes what it returned.
    fn tokens(&self) -> TokenStream {
        let Self {
            scope,
            declaring,
            operation,
            servant,
            request,
        } = *self;
        let (name, method) = (&operation.name, operation_ident(operation));
        let interface = scope.servant(declaring);
        let mode = operation_mode(scope, operation);
        let values = Values::inputs(operation);
        let inputs = values.names();
        let arguments = decode(scope, &values, request, &mode);
        let reply = reply(scope, declaring, operation);
        let is_sliced = is_sliced(scope, declaring, operation);
        let encode = Values::results(operation).encode_owned(scope, is_sliced);
        let taken = parameter_names(operation);
        let result = names::fresh("result", &taken);
        let name = Literal::byte_string(name.as_bytes());
        quote! {
            #name => {
                #arguments
                let #result = <#servant as #interface>::#method(
                    &self.servant,
                    #(#inputs,)*
                    #request.current(),
                )
                .await;
                #reply(#request, #result, #encode)
            }
        }
    }
}

/// Decodes the in-parameters into locals of their names.
fn decode(scope: &Scope<'_>, values: &Values, request: &Ident, mode: &TokenStream) -> TokenStream {
    let decode = values.decode(scope);
    match values.as_written.as_slice() {
        [] => quote!(#request.decode_nothing(#mode)?;),
        [value] => {
            let name = &value.name;
            quote!(let #name = #request.decode(#mode, #decode)?;)
        }
        _ => {
            let pattern = tuple(&values.names());
            quote!(let #pattern = #request.decode(#mode, #decode)?;)
        }
    }
}

/// The function that replies: with compact exceptions if the operation or its interface says so; only then must a
/// receiver know all types.
fn reply(scope: &Scope<'_>, declaring: DefinitionId, operation: &Operation) -> TokenStream {
    let root = scope.root();
    match format(scope, declaring, operation) {
        "compact" => quote!(#root::codegen::reply_compact),
        _ => quote!(#root::codegen::reply),
    }
}
