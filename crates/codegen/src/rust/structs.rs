//! Structures.

use floe_slice::model::{Definition, Struct};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::members::{Fields, declaration, member_ident};
use super::scope::{Scope, type_name};
use crate::names;

/// The struct and its encoding.
pub(super) fn structure(scope: &Scope<'_>, definition: &Definition, of: &Struct) -> TokenStream {
    let name = names::ident(&type_name(definition));
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let fields = Fields {
        members: of.members.iter().collect(),
        base: None,
    };
    let declaration = declaration(scope, definition, "structure", &fields);
    let idents: Vec<Ident> = of.members.iter().map(member_ident).collect();
    let types: Vec<TokenStream> = of
        .members
        .iter()
        .map(|member| scope.owned(member.r#type))
        .collect();
    // Slice has no empty structs, but a model with errors may.
    let min_len = match types.as_slice() {
        [] => quote!(0),
        types => quote!(#(<#types as #root::Decode>::MIN_WIRE_LEN)+*),
    };
    let tagged = tagged(scope, &name, &types);
    quote! {
        #declaration
        impl #root::Encode for #name {
            fn encode(&self, encoder: &mut #root::Encoder<'_>) {
                #(encoder.put(&self.#idents);)*
            }
        }
        impl #root::Decode for #name {
            const MIN_WIRE_LEN: usize = #min_len;
            fn decode(decoder: &mut #root::Decoder<'_>) -> #result<Self, #root::DecodeError> {
                Ok(Self { #(#idents: decoder.get()?,)* })
            }
        }
        #tagged
    }
}

/// What a structure says of its length where it is optional.
fn tagged(scope: &Scope<'_>, name: &Ident, types: &[TokenStream]) -> TokenStream {
    let (root, option) = (scope.root(), scope.prelude("Option"));
    let len = types.iter().fold(
        quote!(Some(0)),
        |sum, r#type| quote!(#root::TagFormat::sum(#sum, <#r#type as #root::Tagged>::FIXED_LEN)),
    );
    quote! {
        impl #root::Tagged for #name {
            const FORMAT: #root::TagFormat = #root::TagFormat::of_parts(Self::FIXED_LEN);
            const FIXED_LEN: #option<usize> = #len;
        }
    }
}
