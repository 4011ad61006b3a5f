//! The proxy of an interface: an async method for every operation, inherited ones included.

use floe_slice::model::{DefinitionId, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::values::Values;
use super::{
    bases, error_type, is_object, is_sliced, operation_docs, operation_ident, operation_mode,
    result_type,
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
    let typed = typed_proxy(&root, &name, scoped);
    let nilable = nilable(scope, &name);
    let upcasts = upcasts(scope, id, &name);
    quote! {
        #summary
        #about
        #deprecated
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct #name(#root::Proxy);
        #methods
        #typed
        #nilable
        #upcasts
    }
}

fn method(scope: &Scope<'_>, declaring: DefinitionId, operation: &Operation) -> TokenStream {
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let docs = operation_docs(scope.model.definition(declaring), operation);
    let (method, name) = (operation_ident(operation), &operation.name);
    let mode = operation_mode(scope, operation);
    let returns_data = operation.returns_data();
    let results = result_type(scope, operation);
    let error = error_type(scope, declaring, operation);
    let values = Values::inputs(operation);
    let inputs = values.names();
    let types = values.as_written.iter().map(|value| value.borrowed(scope));
    let encode = values.encode_borrowed(scope, is_sliced(scope, declaring, operation));
    let decode = Values::results(operation).decode(scope);
    quote! {
        #docs
        pub fn #method<'call>(
            &'call self,
            #(#inputs: #types),*
        ) -> impl ::std::future::Future<Output = #result<#results, #error>> + use<'call> {
            const OPERATION: #root::OperationInfo = #root::OperationInfo {
                name: #name,
                mode: #mode,
                returns_data: #returns_data,
            };
            self.0.call(&OPERATION, move #encode, #decode)
        }
    }
}

fn typed_proxy(root: &TokenStream, name: &Ident, scoped: &str) -> TokenStream {
    quote! {
        impl #root::TypedProxy for #name {
            const TYPE_ID: &'static str = #scoped;
            fn from_proxy(proxy: #root::Proxy) -> Self {
                Self(proxy)
            }
            fn as_proxy(&self) -> &#root::Proxy {
                &self.0
            }
        }
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
    }
}

fn nilable(scope: &Scope<'_>, name: &Ident) -> TokenStream {
    let (root, option, result) = (
        scope.root(),
        scope.prelude("Option"),
        scope.prelude("Result"),
    );
    quote! {
        impl #root::Nilable for #name {
            const NIL_WIRE_LEN: usize = <#root::Proxy as #root::Nilable>::NIL_WIRE_LEN;
            fn encode_nilable(value: #option<&Self>, encoder: &mut #root::Encoder<'_>) {
                #root::Nilable::encode_nilable(value.map(|proxy| &proxy.0), encoder);
            }
            fn decode_nilable(
                decoder: &mut #root::Decoder<'_>,
            ) -> #result<#option<Self>, #root::DecodeError> {
                let proxy = <#root::Proxy as #root::Nilable>::decode_nilable(decoder)?;
                Ok(proxy.map(Self))
            }
        }
    }
}

/// Conversions to the untyped proxy and to that of every base.
fn upcasts(scope: &Scope<'_>, id: DefinitionId, name: &Ident) -> TokenStream {
    let root = scope.root();
    let bases = if bases(scope, id).is_empty() {
        Vec::new()
    } else {
        scope.model.linearized(id)
    };
    let is_base = |base: &DefinitionId| *base != id && is_object(scope, *base);
    let bases = bases.into_iter().filter(is_base).map(|base| {
        let base = scope.path(base, "Proxy");
        quote! {
            impl ::std::convert::From<#name> for #base {
                fn from(proxy: #name) -> Self {
                    <Self as #root::TypedProxy>::from_proxy(proxy.0)
                }
            }
        }
    });
    quote! {
        impl ::std::convert::From<#name> for #root::Proxy {
            fn from(proxy: #name) -> Self {
                proxy.0
            }
        }
        #(#bases)*
    }
}
