//! Slice types as Rust types: owned, and as parameters of a proxy's method.

use std::collections::BTreeSet;

use floe_slice::model::{DefinitionId, DefinitionKind, Model, Primitive, Type};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::scope::Scope;

impl Scope<'_> {
    /// The type of a member, a result, or a parameter of a servant.
    pub(super) fn owned(&self, r#type: Type) -> TokenStream {
        match r#type {
            Type::Primitive(Primitive::String) => self.prelude("String"),
            Type::Primitive(primitive) => number(primitive),
            Type::ObjectProxy => {
                let (option, root) = (self.prelude("Option"), self.root());
                quote!(#option<#root::Proxy>)
            }
            Type::Proxy(interface) => {
                let (option, proxy) = (self.prelude("Option"), self.path(interface, "Proxy"));
                quote!(#option<#proxy>)
            }
            Type::Named(id) => self.path(id, ""),
            _ => unsupported(),
        }
    }

    /// The type of a parameter of a proxy's method: borrowed, unless it is a number or enumerator.
    pub(super) fn borrowed(&self, r#type: Type) -> TokenStream {
        match r#type {
            Type::Primitive(Primitive::String) => quote!(&str),
            Type::Primitive(primitive) => number(primitive),
            Type::ObjectProxy => {
                let (option, root) = (self.prelude("Option"), self.root());
                quote!(#option<&#root::Proxy>)
            }
            Type::Proxy(interface) => {
                let (option, proxy) = (self.prelude("Option"), self.path(interface, "Proxy"));
                quote!(#option<&#proxy>)
            }
            Type::Named(id) => match &self.model.definition(id).kind {
                DefinitionKind::Enum(_) => self.path(id, ""),
                DefinitionKind::Sequence(sequence) => {
                    let element = self.owned(sequence.element);
                    quote!(&[#element])
                }
                _ => {
                    let path = self.path(id, "");
                    quote!(&#path)
                }
            },
            _ => unsupported(),
        }
    }

    /// The statement that encodes a parameter of the type that [`borrowed`](Self::borrowed) gives.
    pub(super) fn put_borrowed(&self, r#type: Type, encoder: &Ident, name: &Ident) -> TokenStream {
        let root = self.root();
        match r#type {
            Type::ObjectProxy | Type::Proxy(_) => {
                quote!(#root::Nilable::encode_nilable(#name, #encoder);)
            }
            Type::Primitive(Primitive::String) => quote!(#encoder.put(#name);),
            Type::Primitive(_) => quote!(#encoder.put(&#name);),
            Type::Named(id) => match &self.model.definition(id).kind {
                DefinitionKind::Enum(_) => quote!(#encoder.put(&#name);),
                _ => quote!(#encoder.put(#name);),
            },
            _ => unsupported(),
        }
    }
}

/// The definitions whose values cannot be compared exactly: a `float` or `double` is inside.
///
/// What a definition uses stands before it in the model, so one pass is enough.
pub(super) fn inexact_definitions(model: &Model) -> BTreeSet<DefinitionId> {
    let mut inexact = BTreeSet::new();
    for (id, definition) in model.iter() {
        let has_inexact = match &definition.kind {
            DefinitionKind::Sequence(sequence) => is_inexact(&inexact, sequence.element),
            DefinitionKind::Dictionary(dictionary) => {
                is_inexact(&inexact, dictionary.key) || is_inexact(&inexact, dictionary.value)
            }
            DefinitionKind::Struct(definition) => {
                let mut members = definition.members.iter();
                members.any(|member| is_inexact(&inexact, member.r#type))
            }
            _ => false,
        };
        if has_inexact {
            inexact.insert(id);
        }
    }
    inexact
}

/// Whether values of the type cannot be compared exactly.
pub(super) fn is_inexact(inexact: &BTreeSet<DefinitionId>, r#type: Type) -> bool {
    match r#type {
        Type::Primitive(primitive) => matches!(primitive, Primitive::Float | Primitive::Double),
        Type::Named(id) => inexact.contains(&id),
        _ => false,
    }
}

fn number(primitive: Primitive) -> TokenStream {
    match primitive {
        Primitive::Bool => quote!(bool),
        Primitive::Byte => quote!(u8),
        Primitive::Short => quote!(i16),
        Primitive::Int => quote!(i32),
        Primitive::Long => quote!(i64),
        Primitive::Float => quote!(f32),
        Primitive::Double => quote!(f64),
        Primitive::String => quote!(str),
    }
}

fn unsupported() -> ! {
    unreachable!("check.rs refuses a model with classes before any code is made")
}
