//! User exceptions: a struct with the members of all its bases, inherited ones first.

use floe_slice::model::{DefinitionId, DefinitionKind, Exception, Member, Model};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::members::{Fields, declaration, in_wire_order, member_ident, tag_literal};
use super::scope::{Scope, type_name};
use crate::names;

/// The struct, its text, and its slices.
pub(super) fn exception(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let (root, definition) = (scope.root(), scope.model.definition(id));
    let name = names::ident(&type_name(definition));
    let members = all_members(scope.model, id);
    let kept = kept_slices(scope, id);
    let fields = Fields {
        members: members.clone(),
        front: kept.clone().map(|name| {
            let doc =
                " Slices of derived exceptions that this program does not know, sent on with it.";
            (
                name,
                quote!(::std::vec::Vec<#root::classes::UnknownSlice>),
                doc.to_owned(),
            )
        }),
    };
    let declaration = declaration(scope, definition, "exception", &fields);
    let scoped = &definition.scoped;
    let members = members.iter().map(|member| spelled(member));
    let slices = slices(scope, id, kept);
    quote! {
        #declaration
        #root::codegen::exception!(#name = #scoped { #(#members),* } #slices);
    }
}

/// The members of an exception, those of its bases first.
pub(super) fn all_members(model: &Model, id: DefinitionId) -> Vec<&Member> {
    let mut chain = model.exception_chain(id);
    chain.reverse();
    chain
        .into_iter()
        .flat_map(|level| &level_of(model, level).members)
        .collect()
}

fn level_of(model: &Model, id: DefinitionId) -> &Exception {
    match &model.definition(id).kind {
        DefinitionKind::Exception(exception) => exception,
        _ => unreachable!("the base of an exception is an exception"),
    }
}

/// The field of a member, and its Slice name where that is another one.
fn spelled(member: &Member) -> TokenStream {
    let (field, name) = (member_ident(member), &member.name);
    match field == name {
        true => quote!(#field),
        false => quote!(#field = #name),
    }
}

/// The field that keeps unknown slices: of an exception that is declared `["preserve-slice"]`, or that
/// derives from one.
fn kept_slices(scope: &Scope<'_>, id: DefinitionId) -> Option<Ident> {
    let chain = scope.model.exception_chain(id).into_iter();
    let mut metadata = chain.flat_map(|level| &scope.model.definition(level).metadata);
    if !metadata.any(|directive| directive.text == "preserve-slice") {
        return None;
    }
    let members = all_members(scope.model, id).into_iter();
    let taken: Vec<String> = members
        .map(|member| member_ident(member).to_string())
        .collect();
    Some(names::fresh("unknown_slices", &taken))
}

/// The slices, if they are more than the members of the struct in their order.
fn slices(scope: &Scope<'_>, id: DefinitionId, kept: Option<Ident>) -> Option<TokenStream> {
    let chain = scope.model.exception_chain(id);
    let uses_classes = uses_classes(scope.model, id);
    let mut members = all_members(scope.model, id).into_iter();
    let is_plain = chain.len() == 1 && !uses_classes && members.all(|member| member.tag.is_none());
    if is_plain && kept.is_none() {
        return None;
    }
    let slices = chain.iter().map(|level| {
        let scoped = &scope.model.definition(*level).scoped;
        let ordered = in_wire_order(&level_of(scope.model, *level).members);
        let fields = ordered.into_iter().map(|(_, member)| {
            let (field, tag) = (member_ident(member), member.tag.map(tag_literal));
            let tag = tag.map(|tag| quote!(= #tag));
            quote!(#field #tag)
        });
        quote!(#scoped { #(#fields),* })
    });
    let table = scope.class_table().filter(|_| uses_classes);
    let classes = table.map(|table| {
        let instances = has_instances(scope.model, id).then(|| quote!(, instances));
        quote!(classes #table #instances)
    });
    let keeps = kept.map(|field| quote!(keeps #field));
    Some(quote!(slices { #(#slices)* } #keeps #classes))
}

/// Returns true if any member may hold a class instance.
fn uses_classes(model: &Model, id: DefinitionId) -> bool {
    let mut members = all_members(model, id).into_iter();
    members.any(|member| model.uses_classes(member.r#type))
}

/// Returns true if encoding 1.0 has instances behind the exception: tagged members are not written there.
fn has_instances(model: &Model, id: DefinitionId) -> bool {
    let members = all_members(model, id).into_iter();
    let mut required = members.filter(|member| member.tag.is_none());
    required.any(|member| model.uses_classes(member.r#type))
}
