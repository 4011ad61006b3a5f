//! The error enum of an operation: its exceptions, and what else can go wrong with a call.

use floe_slice::model::{Definition, DefinitionId, Model, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::names;
use crate::rust::scope::{Scope, error_name, type_name};

/// The enum, its conversions and its encoding.
pub(super) fn error(
    scope: &Scope<'_>,
    interface: &Definition,
    operation: &Operation,
) -> TokenStream {
    let name = names::ident(&error_name(interface, &operation.name, &operation.metadata));
    let variants = variants(scope.model, operation);
    let variant_names: Vec<&Ident> = variants.iter().map(|(_, name)| name).collect();
    let types: Vec<TokenStream> = variants.iter().map(|(id, _)| scope.path(*id, "")).collect();
    let declaration = declaration(scope, interface, operation, &name, &variants);
    let operation_error = operation_error(scope, &name, &variants);
    let (root, option) = (scope.root(), scope.prelude("Option"));
    quote! {
        #declaration
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    #(Self::#variant_names(exception) => ::std::fmt::Display::fmt(exception, f),)*
                    Self::Invoke(error) => ::std::fmt::Display::fmt(error, f),
                }
            }
        }
        impl ::std::error::Error for #name {
            fn source(&self) -> #option<&(dyn ::std::error::Error + 'static)> {
                match self {
                    #(Self::#variant_names(exception) => ::std::error::Error::source(exception),)*
                    Self::Invoke(error) => ::std::error::Error::source(error),
                }
            }
        }
        #(
            impl ::std::convert::From<#types> for #name {
                fn from(exception: #types) -> Self {
                    Self::#variant_names(exception)
                }
            }
        )*
        impl ::std::convert::From<#root::InvokeError> for #name {
            fn from(error: #root::InvokeError) -> Self {
                Self::Invoke(error)
            }
        }
        #operation_error
    }
}

/// The exceptions of an operation with the names of their variants: the declared ones, then every
/// known one that derives from them, so that a servant can fail with it and a caller sees it.
fn variants(model: &Model, operation: &Operation) -> Vec<(DefinitionId, Ident)> {
    let mut exceptions = operation.throws.clone();
    for declared in &operation.throws {
        for derived in model.derived_exceptions(*declared) {
            if !exceptions.contains(&derived) {
                exceptions.push(derived);
            }
        }
    }
    let short = |id: &DefinitionId| type_name(model.definition(*id));
    let is_shared = |id: &DefinitionId| {
        let name = short(id);
        name == "Invoke"
            || exceptions
                .iter()
                .filter(|other| short(other) == name)
                .count()
                > 1
    };
    exceptions
        .iter()
        .map(|id| {
            let modules = &model.definition(*id).modules;
            let prefix = if is_shared(id) {
                modules
                    .iter()
                    .map(|module| names::upper_camel(module))
                    .collect()
            } else {
                String::new()
            };
            (*id, names::ident(&format!("{prefix}{}", short(id))))
        })
        .collect()
}

fn declaration(
    scope: &Scope<'_>,
    interface: &Definition,
    operation: &Operation,
    name: &Ident,
    variants: &[(DefinitionId, Ident)],
) -> TokenStream {
    let root = scope.root();
    let doc = format!(
        " What a call of `{}` of `{}` fails with.",
        operation.name, interface.scoped
    );
    let variants = variants.iter().map(|(id, variant)| {
        let doc = format!(" User exception `{}`.", scope.model.definition(*id).scoped);
        let path = scope.path(*id, "");
        quote!(#[doc = #doc] #variant(#path),)
    });
    quote! {
        #[doc = #doc]
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum #name {
            #(#variants)*
            /// Anything but a declared user exception.
            Invoke(#root::InvokeError),
        }
    }
}

fn operation_error(
    scope: &Scope<'_>,
    name: &Ident,
    variants: &[(DefinitionId, Ident)],
) -> TokenStream {
    let (root, option, result) = (
        scope.root(),
        scope.prelude("Option"),
        scope.prelude("Result"),
    );
    let decodes = variants.iter().map(|(id, variant)| {
        let scoped = &scope.model.definition(*id).scoped;
        let path = scope.path(*id, "");
        quote! {
            #scoped => {
                let exception = <#path as #root::UserException>::decode_slices(reader)?;
                Ok(Some(Self::#variant(exception)))
            }
        }
    });
    let encodes = variants.iter().map(|(_, variant)| {
        quote! {
            Self::#variant(exception) => #root::UserException::encode_slices(exception, writer),
        }
    });
    let know = scope.know_classes(true, quote!(reader));
    quote! {
        impl #root::OperationError for #name {
            fn decode(
                reader: &mut #root::ExceptionReader<'_>,
            ) -> #result<#option<Self>, #root::DecodeError> {
                #know
                match reader.type_id() {
                    #(#decodes)*
                    _ => Ok(None),
                }
            }
            fn into_invoke_error(self) -> #result<#root::InvokeError, Self> {
                match self {
                    Self::Invoke(error) => Ok(error),
                    exception => Err(exception),
                }
            }
            fn encode_slices(&self, writer: &mut #root::ExceptionWriter<'_, '_>) {
                match self {
                    #(#encodes)*
                    Self::Invoke(_) => {}
                }
            }
        }
    }
}
