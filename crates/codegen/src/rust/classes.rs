//! Classes: a struct that embeds its base, and the table by which a decoder finds classes.

use floe_slice::model::{Class, DefinitionId};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::facts::is_complete_class;
use super::members::{Fields, declaration, gets, member_ident, puts};
use super::scope::{Scope, is_external, type_name};
use crate::names;

/// The struct, and what makes it a class.
pub(super) fn class(scope: &Scope<'_>, id: DefinitionId, of: &Class) -> TokenStream {
    let definition = scope.model.definition(id);
    let name = names::ident(&type_name(definition));
    let base = of.base.map(|base| base_field(scope, of, base));
    let fields = Fields {
        members: of.members.iter().collect(),
        front: base.clone(),
    };
    let declaration = declaration(scope, definition, "class", &fields);
    let class = class_trait(scope, id, of, &name, base.as_ref());
    let inherits = base.map(|(field, base, _)| inherits(scope, id, &name, &field, &base));
    quote! {
        #declaration
        #class
        #inherits
    }
}

/// Name, type and text of the field for the base; no member of the class has its name.
fn base_field(scope: &Scope<'_>, of: &Class, base: DefinitionId) -> (Ident, TokenStream, String) {
    let members = of.members.iter();
    let taken: Vec<String> = members
        .map(|member| member_ident(member).to_string())
        .collect();
    let doc = format!(
        " What the base `{}` declares.",
        scope.model.definition(base).scoped
    );
    (names::fresh("base", &taken), scope.path(base, ""), doc)
}

fn class_trait(
    scope: &Scope<'_>,
    id: DefinitionId,
    of: &Class,
    name: &Ident,
    base: Option<&(Ident, TokenStream, String)>,
) -> TokenStream {
    let (root, option, result) = (
        scope.root(),
        scope.prelude("Option"),
        scope.prelude("Result"),
    );
    let scoped = &scope.model.definition(id).scoped;
    let table = scope.class_table();
    let compact_id = of.compact_id.map(|id| {
        let id = super::constants::integer(id.into());
        quote!(const COMPACT_ID: #option<i32> = Some(#id);)
    });
    let is_cut = scope.options.cuts_slices() && !is_preserved(scope, id);
    let cuts = is_cut.then(|| {
        quote!(
            const KEEPS_UNKNOWN_SLICES: bool = false;
        )
    });
    let base_part = base.map(|(field, ..)| {
        quote! {
            fn base(&self) -> #option<&dyn #root::classes::AnyClass> {
                Some(&self.#field)
            }
        }
    });
    let encoder = if of.members.is_empty() {
        quote!(_)
    } else {
        quote!(encoder)
    };
    let puts = puts(&of.members);
    let members: Vec<Ident> = of.members.iter().map(member_ident).collect();
    let taken: Vec<String> = members.iter().map(Ident::to_string).collect();
    let reader = names::fresh("reader", &taken);
    let gets = gets(&of.members, |read| quote!(#reader.slice(#scoped, #read)));
    let base_read = base
        .map(|(field, base, _)| quote!(#field: <#base as #root::classes::Class>::decode_slices(#reader)?,));
    quote! {
        impl #root::classes::Class for #name {
            const TYPE_ID: &'static str = #scoped;
            #compact_id
            #cuts
            fn classes() -> &'static dyn #root::classes::Classes {
                &#table
            }
            #base_part
            fn encode_members(&self, #encoder: &mut #root::encoding::Encoder<'_>) {
                #puts
            }
            fn decode_slices(
                #reader: &mut #root::classes::ClassReader<'_, '_>
            ) -> #result<Self, #root::DecodeError> {
                #gets
                Ok(Self { #base_read #(#members),* })
            }
        }
    }
}

/// Returns true if a class, or one that it extends, is declared `["preserve-slice"]`.
fn is_preserved(scope: &Scope<'_>, id: DefinitionId) -> bool {
    let chain = scope.model.class_chain(id).into_iter();
    let mut metadata = chain.flat_map(|level| &scope.model.definition(level).metadata);
    metadata.any(|directive| directive.text == "preserve-slice")
}

/// The members of the base can be read in place, and a link to any base can hold the class.
fn inherits(
    scope: &Scope<'_>,
    id: DefinitionId,
    name: &Ident,
    field: &Ident,
    base: &TokenStream,
) -> TokenStream {
    let root = scope.root();
    let chain = scope.model.class_chain(id);
    let ancestors = chain[1..].iter().map(|ancestor| scope.path(*ancestor, ""));
    quote! {
        impl ::std::ops::Deref for #name {
            type Target = #base;
            fn deref(&self) -> &Self::Target {
                &self.#field
            }
        }
        #(impl #root::classes::Extends<#ancestors> for #name {})*
    }
}

/// The table, if it stands in the module of this scope.
pub(super) fn table(scope: &Scope<'_>) -> Option<TokenStream> {
    let table = scope.facts.table.as_ref()?;
    if table.modules != scope.modules {
        return None;
    }
    let root = scope.root();
    let name = names::ident(&table.name);
    let classes = scope
        .model
        .iter()
        .filter(|(_, definition)| is_complete_class(definition));
    let (others, own): (Vec<_>, Vec<_>) =
        classes.partition(|(_, definition)| is_external(scope.options, definition));
    let own = own.iter().map(|(id, _)| scope.path(*id, ""));
    let others = others.iter().map(|(id, _)| scope.path(*id, ""));
    Some(quote! {
        /// The classes of the contract, and of those that it uses.
        pub static #name: #root::classes::ClassTable = #root::classes::ClassTable::new(
            &[#(#root::classes::ClassInfo::of::<#own>()),*],
            &[#(&#root::classes::ClassesOf::<#others>::NEW),*],
        );
    })
}
