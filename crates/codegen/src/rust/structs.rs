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
    let (root, option, result) = (
        scope.root(),
        scope.prelude("Option"),
        scope.prelude("Result"),
    );
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
    let tagged = tagged(scope, &name);
    quote! {
        #declaration
        impl #root::Encode for #name {
            #[inline]
            fn encode(&self, encoder: &mut #root::Encoder<'_>) {
                #(encoder.put(&self.#idents);)*
            }
        }
        impl #root::Decode for #name {
            const MIN_WIRE_LEN: usize = #min_len;
            const PACKED_LEN: #option<usize> =
                #root::packed_len(&[#(<#types as #root::Decode>::PACKED_LEN),*]);
            #[inline]
            fn decode(decoder: &mut #root::Decoder<'_>) -> #result<Self, #root::DecodeError> {
                Ok(Self { #(#idents: decoder.get()?,)* })
            }
            fn decode_into(
                &mut self,
                decoder: &mut #root::Decoder<'_>,
            ) -> #result<(), #root::DecodeError> {
                #(decoder.get_into(&mut self.#idents)?;)*
                Ok(())
            }
        }
        #tagged
    }
}

/// What a structure says of its length where it is optional.
fn tagged(scope: &Scope<'_>, name: &Ident) -> TokenStream {
    let (root, option) = (scope.root(), scope.prelude("Option"));
    quote! {
        impl #root::Tagged for #name {
            const FORMAT: #root::TagFormat = #root::TagFormat::of_parts(Self::FIXED_LEN);
            const FIXED_LEN: #option<usize> = <Self as #root::Decode>::PACKED_LEN;
        }
    }
}
