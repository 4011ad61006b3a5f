//! Slice types as Rust types: owned, and as parameters of a proxy's method.

use floe_slice::model::{DefinitionId, DefinitionKind, Metadata, Primitive, Type};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::containers::Container;
use super::members::tag_literal;
use super::own_metadata::is_nonnull;
use super::scope::Scope;

/// The shape of a Slice type in Rust.
enum Shape {
    /// A number or truth value.
    Number(TokenStream),
    /// An enumeration.
    Enumeration(TokenStream),
    Text,
    /// The proxy of an interface, or any proxy.
    Proxy(TokenStream),
    /// A link to an instance of this class.
    Link(TokenStream),
    /// A sequence as it is usual, with its elements.
    Elements(TokenStream, TokenStream),
    /// Any other definition.
    Named(TokenStream),
}

impl Scope<'_> {
    /// The type of a member, a result, or a parameter of a servant.
    pub(super) fn owned(&self, r#type: Type) -> TokenStream {
        let (root, option) = (self.root(), self.prelude("Option"));
        match self.shape(r#type) {
            Shape::Text => self.prelude("String"),
            Shape::Proxy(proxy) => quote!(#option<#proxy>),
            Shape::Link(class) => quote!(#root::classes::Link<#class>),
            Shape::Number(path)
            | Shape::Enumeration(path)
            | Shape::Elements(path, _)
            | Shape::Named(path) => path,
        }
    }

    /// As [`owned`](Self::owned), of a value that these metadata describe: a proxy that is never nil is no option.
    pub(super) fn held(&self, r#type: Type, metadata: &[Metadata]) -> TokenStream {
        let present = is_nonnull(metadata).then(|| self.proxy(r#type)).flatten();
        present.unwrap_or_else(|| self.owned(r#type))
    }

    /// As [`owned`](Self::owned), or an option of it if it has a tag. An optional proxy is an option
    /// of an option: it may be unset, or set to nil.
    pub(super) fn owned_or_unset(&self, r#type: Type, tag: Option<i32>) -> TokenStream {
        self.or_unset(self.owned(r#type), tag)
    }

    /// The type of a parameter of a proxy's method: borrowed for `'call`, unless it is a number or enumerator.
    pub(super) fn borrowed(&self, r#type: Type, tag: Option<i32>) -> TokenStream {
        let (root, option) = (self.root(), self.prelude("Option"));
        let borrowed = match self.shape(r#type) {
            Shape::Number(path) | Shape::Enumeration(path) => path,
            Shape::Text => quote!(&'call str),
            Shape::Proxy(proxy) => quote!(#option<&'call #proxy>),
            Shape::Link(class) => quote!(&'call #root::classes::Link<#class>),
            Shape::Elements(_, element) => quote!(&'call [#element]),
            Shape::Named(path) => quote!(&'call #path),
        };
        self.or_unset(borrowed, tag)
    }

    /// Returns true if [`borrowed`](Self::borrowed) gives a type with a lifetime.
    pub(super) fn is_borrowed(&self, r#type: Type) -> bool {
        !matches!(self.shape(r#type), Shape::Number(_) | Shape::Enumeration(_))
    }

    /// A parameter of the type that [`borrowed`](Self::borrowed) gives, as a value that encodes itself, and the type of
    /// that.
    pub(super) fn parameter(
        &self,
        r#type: Type,
        tag: Option<i32>,
        name: &Ident,
    ) -> (TokenStream, TokenStream) {
        let root = self.root();
        match (self.shape(r#type), tag.map(tag_literal)) {
            (Shape::Proxy(proxy), None) => (
                quote!(#root::codegen::NilableParameter(#name)),
                quote!(#root::codegen::NilableParameter<'call, #proxy>),
            ),
            (Shape::Proxy(proxy), Some(tag)) => (
                quote!(#root::codegen::OptionalProxy(#tag, #name)),
                quote!(#root::codegen::OptionalProxy<'call, #proxy>),
            ),
            (_, None) => (quote!(#name), self.borrowed(r#type, None)),
            (_, Some(tag)) => {
                let borrowed = self.borrowed(r#type, None);
                (
                    quote!(#root::codegen::Optional(#tag, #name)),
                    quote!(#root::codegen::Optional<#borrowed>),
                )
            }
        }
    }

    /// The statement that lets `reader` know the classes of the contract, if it `uses` any.
    pub(super) fn know_classes(&self, uses: bool, reader: TokenStream) -> Option<TokenStream> {
        let table = self.class_table().filter(|_| uses)?;
        Some(quote!(#reader.know_classes(&#table);))
    }

    /// The type of a proxy, if it is one.
    pub(super) fn proxy(&self, r#type: Type) -> Option<TokenStream> {
        match self.shape(r#type) {
            Shape::Proxy(proxy) => Some(proxy),
            _ => None,
        }
    }

    fn or_unset(&self, r#type: TokenStream, tag: Option<i32>) -> TokenStream {
        let option = self.prelude("Option");
        match tag {
            Some(_) => quote!(#option<#r#type>),
            None => r#type,
        }
    }

    fn shape(&self, r#type: Type) -> Shape {
        let root = self.root();
        match r#type {
            Type::Primitive(Primitive::String) => Shape::Text,
            Type::Primitive(primitive) => Shape::Number(number(primitive)),
            Type::ObjectProxy => Shape::Proxy(quote!(#root::Proxy)),
            Type::Proxy(interface) => Shape::Proxy(self.path(interface, "Proxy")),
            Type::Named(id) => self.named(id),
            _ => Shape::Link(quote!(dyn #root::classes::AnyClass)),
        }
    }

    fn named(&self, id: DefinitionId) -> Shape {
        let definition = self.model.definition(id);
        let path = self.path(id, "");
        match &definition.kind {
            DefinitionKind::Enum(_) => Shape::Enumeration(path),
            DefinitionKind::Sequence(sequence) => match Container::of(definition) {
                Container::Usual => {
                    Shape::Elements(path, self.held(sequence.element, &definition.metadata))
                }
                // Of bytes that are shared a share is sent, and no copy.
                Container::Bytes | Container::Named(_) => Shape::Named(path),
            },
            DefinitionKind::Class(class) if self.is_known(id, class.is_complete) => {
                Shape::Link(path)
            }
            // A class of which only the name is known can be any.
            DefinitionKind::Class(_) | DefinitionKind::Interface(_) => {
                let root = self.root();
                Shape::Link(quote!(dyn #root::classes::AnyClass))
            }
            _ => Shape::Named(path),
        }
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
