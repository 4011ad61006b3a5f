//! Views: what borrows from the message that it is read from, for structures and sequences with
//! `["rust:view"]`.
//!
//! Inside a view a structure without the metadata, an enumerator, a proxy, and a container that
//! `rust:type` or `rust:bytes` chooses are owned. `docs/adr/0012` has the reasons.

use floe_slice::model::{
    Definition, DefinitionId, DefinitionKind, Dictionary, Member, Model, Primitive, Sequence,
    Struct, Type,
};
use proc_macro2::TokenStream;
use quote::quote;

use super::containers::Container;
use super::docs::docs;
use super::members::{has_default, member_ident};
use super::scope::{Scope, type_name};
use crate::names;

/// The last word in the name of a view.
pub(super) const SUFFIX: &str = "View";

/// Returns true if a definition asks for a view.
pub(super) fn is_asked_for(definition: &Definition) -> bool {
    let mut metadata = definition.metadata.iter();
    metadata.any(|directive| directive.text == "rust:view")
}

/// Returns true if there is anything to borrow in a value of the type.
pub(super) fn borrows(model: &Model, r#type: Type) -> bool {
    matches!(Shape::of(model, r#type), Some(shape) if shape.borrows())
}

/// Returns true if a structure or sequence has a view: it asks for it, and has something to borrow.
pub(super) fn has_view(model: &Model, id: DefinitionId) -> bool {
    let definition = model.definition(id);
    is_asked_for(definition) && borrows(model, Type::Named(id))
}

/// The view of a structure, if it has one.
pub(super) fn structure(scope: &Scope<'_>, id: DefinitionId, of: &Struct) -> Option<TokenStream> {
    if !has_view(scope.model, id) {
        return None;
    }
    let definition = scope.model.definition(id);
    let (owned, name) = (scope.path(id, ""), view_ident(definition));
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let docs = docs(
        None,
        &format!("Slice structure `{}`, in place.", definition.scoped),
    );
    let fields = of.members.iter().map(|member| field(scope, member));
    let idents: Vec<_> = of.members.iter().map(member_ident).collect();
    let gets = of.members.iter().map(|member| get(scope, member));
    let owns = of.members.iter().map(|member| own(scope, member));
    let members: Vec<_> = of.members.iter().collect();
    let default = has_default(scope, &members).then(|| quote!(, Default));
    Some(quote! {
        #docs
        #[derive(Debug, Clone, PartialEq #default)]
        pub struct #name<'a> { #(#fields)* }
        impl #root::encoding::Encode for #name<'_> {
            #[inline]
            fn encode(&self, encoder: &mut #root::encoding::Encoder<'_>) {
                #(encoder.put(&self.#idents);)*
            }
        }
        impl<'a> #root::encoding::View<'a> for #name<'a> {
            type Owned = #owned;
            const MIN_WIRE_LEN: usize = <#owned as #root::encoding::Decode>::MIN_WIRE_LEN;
            #[inline]
            fn decode_view(
                decoder: &mut #root::encoding::Decoder<'a>
            ) -> #result<Self, #root::DecodeError> {
                Ok(Self { #(#gets)* })
            }
            fn into_owned(self) -> #owned {
                #owned { #(#owns)* }
            }
        }
    })
}

/// `pub type NamesView<'a> = Vec<&'a str>;`
pub(super) fn sequence(scope: &Scope<'_>, id: DefinitionId) -> Option<TokenStream> {
    if !has_view(scope.model, id) {
        return None;
    }
    let definition = scope.model.definition(id);
    let target = viewed(scope, Type::Named(id))?;
    let name = view_ident(definition);
    let docs = docs(
        None,
        &format!("Slice sequence `{}`, in place.", definition.scoped),
    );
    Some(quote!(#docs pub type #name<'a> = #target;))
}

fn view_ident(definition: &Definition) -> proc_macro2::Ident {
    names::ident(&format!("{}{SUFFIX}", type_name(definition)))
}

fn field(scope: &Scope<'_>, member: &Member) -> TokenStream {
    let docs = docs(
        member.doc.as_deref(),
        &format!("Slice member `{}`.", member.name),
    );
    let name = member_ident(member);
    let r#type =
        viewed(scope, member.r#type).unwrap_or_else(|| scope.held(member.r#type, &member.metadata));
    quote!(#docs pub #name: #r#type,)
}

fn get(scope: &Scope<'_>, member: &Member) -> TokenStream {
    let name = member_ident(member);
    match Shape::of(scope.model, member.r#type) {
        Some(_) => quote!(#name: decoder.view()?,),
        None => quote!(#name: decoder.get()?,),
    }
}

fn own(scope: &Scope<'_>, member: &Member) -> TokenStream {
    let (root, name) = (scope.root(), member_ident(member));
    match Shape::of(scope.model, member.r#type) {
        Some(_) => quote!(#name: #root::encoding::View::into_owned(self.#name),),
        None => quote!(#name: self.#name,),
    }
}

/// The part of a type that is viewed; the rest is owned.
enum Shape {
    Number,
    Text,
    Bytes,
    /// A sequence whose elements have a fixed length on the wire.
    Packed(Type),
    Elements(Type),
    Entries(Type, Type),
    Structure(DefinitionId),
}

impl Shape {
    fn of(model: &Model, r#type: Type) -> Option<Self> {
        match r#type {
            Type::Primitive(Primitive::String) => Some(Self::Text),
            Type::Primitive(_) => Some(Self::Number),
            Type::Named(id) => Self::named(model, id),
            _ => None,
        }
    }

    fn named(model: &Model, id: DefinitionId) -> Option<Self> {
        let definition = model.definition(id);
        let is_usual = Container::of(definition) == Container::Usual;
        match &definition.kind {
            DefinitionKind::Sequence(of) if is_usual => Self::sequence(model, of),
            DefinitionKind::Dictionary(of) if is_usual => Self::dictionary(model, of),
            DefinitionKind::Struct(of) => {
                let mut members = of.members.iter();
                let has_view =
                    is_asked_for(definition) && members.any(|member| borrows(model, member.r#type));
                has_view.then_some(Self::Structure(id))
            }
            _ => None,
        }
    }

    fn sequence(model: &Model, of: &Sequence) -> Option<Self> {
        if of.element == Type::Primitive(Primitive::Byte) {
            return Some(Self::Bytes);
        }
        if is_packed(model, of.element) {
            return Some(Self::Packed(of.element));
        }
        Self::of(model, of.element).map(|_| Self::Elements(of.element))
    }

    /// Keys and values are both viewed, and one of them borrows, or the whole is owned.
    fn dictionary(model: &Model, of: &Dictionary) -> Option<Self> {
        let (key, value) = (Self::of(model, of.key)?, Self::of(model, of.value)?);
        let has_order = matches!(key, Self::Number | Self::Text);
        let borrows = key.borrows() || value.borrows();
        (has_order && borrows).then_some(Self::Entries(of.key, of.value))
    }

    fn borrows(&self) -> bool {
        !matches!(self, Self::Number)
    }
}

/// Returns true if values of the type have a fixed length on the wire, and any bytes of that length are one.
fn is_packed(model: &Model, r#type: Type) -> bool {
    match r#type {
        Type::Primitive(primitive) => primitive != Primitive::String,
        Type::Named(id) => match &model.definition(id).kind {
            DefinitionKind::Struct(of) => {
                let mut members = of.members.iter();
                members.all(|member| is_packed(model, member.r#type))
            }
            _ => false,
        },
        _ => false,
    }
}

/// The type of the view with the lifetime `'a`; `None` if values of the type are owned.
fn viewed(scope: &Scope<'_>, r#type: Type) -> Option<TokenStream> {
    let root = scope.root();
    // What `Shape` says of a part is what it said of the whole.
    let part = |r#type| viewed(scope, r#type).unwrap_or_else(|| scope.owned(r#type));
    let viewed = match Shape::of(scope.model, r#type)? {
        Shape::Number => scope.owned(r#type),
        Shape::Text => quote!(&'a str),
        Shape::Bytes => quote!(&'a [u8]),
        Shape::Packed(element) => {
            let element = scope.owned(element);
            quote!(#root::encoding::Packed<'a, #element>)
        }
        Shape::Elements(element) => {
            let (vec, element) = (scope.prelude("Vec"), part(element));
            quote!(#vec<#element>)
        }
        Shape::Entries(key, value) => {
            let (key, value) = (part(key), part(value));
            quote!(::std::collections::BTreeMap<#key, #value>)
        }
        Shape::Structure(id) => {
            let path = scope.path(id, SUFFIX);
            quote!(#path<'a>)
        }
    };
    Some(viewed)
}
