//! Views: what borrows from the message that it is read from, for structures and sequences with
//! `["rust:view"]`.
//!
//! Inside a view a structure without the metadata, an enumerator, a proxy, and a container that
//! `rust:type` or `rust:bytes` chooses are owned. `docs/adr/0012` has the reasons.

use std::collections::BTreeSet;

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

/// The structures that views look into.
#[derive(Default)]
pub(super) struct ViewedStructures {
    /// Those that have a view themselves.
    viewed: BTreeSet<DefinitionId>,
    /// Those whose values have a fixed length on the wire, and of which any bytes of that length are one.
    packed: BTreeSet<DefinitionId>,
}

impl ViewedStructures {
    /// One pass is enough, because what a structure has as a member stands before it in the model.
    pub(super) fn of(model: &Model) -> Self {
        let mut all = Self::default();
        for (id, definition) in model.iter() {
            let DefinitionKind::Struct(of) = &definition.kind else {
                continue;
            };
            let mut members = of.members.iter().map(|member| member.r#type);
            if members.clone().all(|r#type| all.is_packed(r#type)) {
                all.packed.insert(id);
            }
            if is_asked_for(definition) && members.any(|r#type| all.borrows(model, r#type)) {
                all.viewed.insert(id);
            }
        }
        all
    }

    /// Returns true if a structure or sequence has a view: it asks for it, and has something to borrow.
    pub(super) fn has_view(&self, model: &Model, id: DefinitionId) -> bool {
        let definition = model.definition(id);
        is_asked_for(definition) && self.borrows(model, Type::Named(id))
    }

    /// Returns true if there is anything to borrow in a value of the type.
    fn borrows(&self, model: &Model, r#type: Type) -> bool {
        matches!(Shape::of(model, self, r#type), Some(shape) if shape.borrows())
    }

    fn is_packed(&self, r#type: Type) -> bool {
        match r#type {
            Type::Primitive(primitive) => primitive != Primitive::String,
            Type::Named(id) => self.packed.contains(&id),
            _ => false,
        }
    }
}

/// The view of a structure, if it has one.
pub(super) fn structure(scope: &Scope<'_>, id: DefinitionId, of: &Struct) -> Option<TokenStream> {
    if !scope.facts.views.has_view(scope.model, id) {
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
    if !scope.facts.views.has_view(scope.model, id) {
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
    match Shape::in_scope(scope, member.r#type) {
        Some(_) => quote!(#name: decoder.view()?,),
        None => quote!(#name: decoder.get()?,),
    }
}

fn own(scope: &Scope<'_>, member: &Member) -> TokenStream {
    let (root, name) = (scope.root(), member_ident(member));
    match Shape::in_scope(scope, member.r#type) {
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
    fn of(model: &Model, views: &ViewedStructures, r#type: Type) -> Option<Self> {
        match r#type {
            Type::Primitive(Primitive::String) => Some(Self::Text),
            Type::Primitive(_) => Some(Self::Number),
            Type::Named(id) => Self::named(model, views, id),
            _ => None,
        }
    }

    fn in_scope(scope: &Scope<'_>, r#type: Type) -> Option<Self> {
        Self::of(scope.model, &scope.facts.views, r#type)
    }

    fn named(model: &Model, views: &ViewedStructures, id: DefinitionId) -> Option<Self> {
        let definition = model.definition(id);
        let is_usual = Container::of(definition) == Container::Usual;
        match &definition.kind {
            DefinitionKind::Sequence(of) if is_usual => Self::sequence(model, views, of),
            DefinitionKind::Dictionary(of) if is_usual => Self::dictionary(model, views, of),
            DefinitionKind::Struct(_) => views.viewed.contains(&id).then_some(Self::Structure(id)),
            _ => None,
        }
    }

    fn sequence(model: &Model, views: &ViewedStructures, of: &Sequence) -> Option<Self> {
        if of.element == Type::Primitive(Primitive::Byte) {
            return Some(Self::Bytes);
        }
        if views.is_packed(of.element) {
            return Some(Self::Packed(of.element));
        }
        Self::of(model, views, of.element).map(|_| Self::Elements(of.element))
    }

    /// Keys and values are both viewed, and one of them borrows, or the whole is owned.
    fn dictionary(model: &Model, views: &ViewedStructures, of: &Dictionary) -> Option<Self> {
        let key = Self::of(model, views, of.key)?;
        let value = Self::of(model, views, of.value)?;
        let has_order = matches!(key, Self::Number | Self::Text);
        let borrows = key.borrows() || value.borrows();
        (has_order && borrows).then_some(Self::Entries(of.key, of.value))
    }

    fn borrows(&self) -> bool {
        !matches!(self, Self::Number)
    }
}

/// The type of the view with the lifetime `'a`; `None` if values of the type are owned.
fn viewed(scope: &Scope<'_>, r#type: Type) -> Option<TokenStream> {
    let root = scope.root();
    // What `Shape` says of a part is what it said of the whole.
    let part = |r#type| viewed(scope, r#type).unwrap_or_else(|| scope.owned(r#type));
    let viewed = match Shape::in_scope(scope, r#type)? {
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
