//! The dispatcher of an interface: from a request to the servant's method and back.

use floe_slice::model::{DefinitionId, DefinitionKind, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{Results, input_idents, operation_ident, operation_mode, parameter_names, tuple};
use crate::names;
use crate::rust::docs::docs;
use crate::rust::scope::{Scope, type_name};

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
    let (servant, interface) = (scope.type_parameter(), names::ident(&type_name(definition)));
    let operations = scope.model.all_operations(id);
    let taken: Vec<String> = operations
        .iter()
        .flat_map(|(_, operation)| parameter_names(operation))
        .collect();
    let request = names::fresh("request", &taken);
    let arms = operations
        .iter()
        .map(|(declaring, operation)| arm(scope, *declaring, operation, &servant, &request));
    let scoped = &definition.scoped;
    let type_ids = scope.model.type_ids(id);
    let builtin = quote!(#request.builtin(#scoped, &[#(#type_ids),*]));
    let answer = if operations.is_empty() {
        builtin
    } else {
        quote!(match #request.operation() { #(#arms)* _ => #builtin, })
    };
    quote! {
        #summary
        #[derive(Debug, Clone)]
        pub struct #name<#servant> {
            servant: #servant,
        }
        impl<#servant: #interface> #name<#servant> {
            /// A dispatcher to this servant.
            pub fn new(servant: #servant) -> Self {
                Self { servant }
            }
            /// The servant.
            pub fn servant(&self) -> &#servant {
                &self.servant
            }
        }
        impl<#servant: #interface> #root::Dispatcher for #name<#servant> {
            fn dispatch(
                self: ::std::sync::Arc<Self>,
                #request: #root::Request,
            ) -> #root::DispatchFuture {
                ::std::boxed::Box::pin(async move { #answer })
            }
        }
    }
}

fn arm(
    scope: &Scope<'_>,
    declaring: DefinitionId,
    operation: &Operation,
    servant: &Ident,
    request: &Ident,
) -> TokenStream {
    let (name, method) = (&operation.name, operation_ident(operation));
    let interface = scope.path(declaring, "");
    let mode = operation_mode(scope, operation);
    let inputs = input_idents(operation);
    let arguments = decode(scope, operation, &inputs, request, &mode);
    let format = exception_format(scope, declaring, operation);
    let encode = encode(operation);
    let result = names::fresh("result", &parameter_names(operation));
    quote! {
        #name => {
            #arguments
            let #result = <#servant as #interface>::#method(
                &self.servant,
                #(#inputs,)*
                #request.current(),
            )
            .await;
            #request.reply(#result, #format, #encode)
        }
    }
}

/// Decodes the in-parameters into locals of their names.
fn decode(
    scope: &Scope<'_>,
    operation: &Operation,
    inputs: &[Ident],
    request: &Ident,
    mode: &TokenStream,
) -> TokenStream {
    let types: Vec<TokenStream> = operation
        .inputs()
        .map(|parameter| scope.owned(parameter.r#type))
        .collect();
    match (inputs, types.as_slice()) {
        ([], _) => quote!(#request.decode(#mode, |_| Ok(()))?;),
        ([input], [r#type]) => {
            quote!(let #input: #r#type = #request.decode(#mode, |decoder| decoder.get())?;)
        }
        _ => {
            let decoder = names::fresh("decoder", &parameter_names(operation));
            quote! {
                let (#(#inputs),*) = #request.decode(#mode, |#decoder| {
                    #(let #inputs: #types = #decoder.get()?;)*
                    Ok((#(#inputs),*))
                })?;
            }
        }
    }
}

/// The closure that encodes the results.
fn encode(operation: &Operation) -> TokenStream {
    let results = Results::of(operation);
    if results.as_encoded.is_empty() {
        return quote!(|_, _| {});
    }
    let encoder = names::fresh("encoder", &parameter_names(operation));
    let (pattern, values) = (tuple(&results.as_returned), &results.as_encoded);
    quote!(|#pattern, #encoder| { #(#encoder.put(#values);)* })
}

/// Compact if the operation or its interface says so; only then must a receiver know all types.
fn exception_format(
    scope: &Scope<'_>,
    declaring: DefinitionId,
    operation: &Operation,
) -> TokenStream {
    let root = scope.root();
    let definition = scope.model.definition(declaring);
    debug_assert!(matches!(definition.kind, DefinitionKind::Interface(_)));
    let format = operation
        .metadata
        .iter()
        .chain(&definition.metadata)
        .find_map(|directive| directive.text.strip_prefix("format:"));
    match format {
        Some("compact") => quote!(#root::ExceptionFormat::Compact),
        _ => quote!(#root::ExceptionFormat::Sliced),
    }
}
