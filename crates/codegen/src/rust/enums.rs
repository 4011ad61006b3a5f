//! Enumerations.

use floe_slice::model::{Definition, Enum, Enumerator};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::constants::integer;
use super::derive;
use super::docs::{deprecated, docs};
use super::scope::{Scope, spelled, type_name};
use crate::names;

/// The enum, its conversions from and to numbers, and its encoding.
pub(super) fn enumeration(scope: &Scope<'_>, definition: &Definition, of: &Enum) -> TokenStream {
    let declaration = declaration(definition, of);
    let name = names::ident(&type_name(definition));
    let scoped = &definition.scoped;
    let (root, option, result) = (
        scope.root(),
        scope.prelude("Option"),
        scope.prelude("Result"),
    );
    let max = integer(of.max_value().into());
    let arms = of.enumerators.iter().map(|enumerator| {
        let (value, variant) = (integer(enumerator.value.into()), variant_ident(enumerator));
        quote!(#value => Some(Self::#variant),)
    });
    quote! {
        #declaration
        impl #name {
            /// The value of the enumerator on the wire.
            pub const fn value(self) -> i32 {
                self as i32
            }
            /// The enumerator with this value, if there is one.
            pub const fn from_value(value: i32) -> #option<Self> {
                match value {
                    #(#arms)*
                    _ => None,
                }
            }
        }
        impl #root::Encode for #name {
            fn encode(&self, encoder: &mut #root::Encoder<'_>) {
                #root::EnumWidth::for_max(#max).encode(self.value(), encoder);
            }
        }
        impl #root::Decode for #name {
            const MIN_WIRE_LEN: usize = 1;
            fn decode(decoder: &mut #root::Decoder<'_>) -> #result<Self, #root::DecodeError> {
                let value = #root::EnumWidth::for_max(#max).decode(decoder, #scoped)?;
                Self::from_value(value).ok_or_else(|| {
                    let kind = #root::DecodeErrorKind::UnknownEnumerator(value);
                    decoder.error(#scoped, kind)
                })
            }
        }
        impl #root::Tagged for #name {
            const FORMAT: #root::TagFormat = #root::TagFormat::Size;
        }
    }
}

fn declaration(definition: &Definition, of: &Enum) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let docs = docs(
        definition.doc.as_deref(),
        &format!("Slice enumeration `{}`.", definition.scoped),
    );
    let deprecated = deprecated(&definition.metadata);
    let variants = of.enumerators.iter().enumerate().map(variant);
    let derives = derive::with_own(&DERIVES, &definition.metadata);
    quote! {
        #docs
        #deprecated
        #[derive(#derives)]
        #[repr(i32)]
        pub enum #name { #(#variants)* }
    }
}

fn variant((index, enumerator): (usize, &Enumerator)) -> TokenStream {
    let docs = docs(
        enumerator.doc.as_deref(),
        &format!("Slice enumerator `{}`.", enumerator.name),
    );
    let deprecated = deprecated(&enumerator.metadata);
    let default = (index == 0).then(|| quote!(#[default]));
    let (name, value) = (variant_ident(enumerator), integer(enumerator.value.into()));
    quote!(#docs #deprecated #default #name = #value,)
}

/// The identifier of an enumerator.
pub(super) fn variant_ident(enumerator: &Enumerator) -> Ident {
    names::ident(&spelled(
        &enumerator.name,
        &enumerator.metadata,
        names::upper_camel,
    ))
}

const DERIVES: [&str; 9] = [
    "Debug",
    "Clone",
    "Copy",
    "PartialEq",
    "Eq",
    "Hash",
    "PartialOrd",
    "Ord",
    "Default",
];
