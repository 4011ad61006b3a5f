//! User exceptions: a struct with the members of all its bases, inherited ones first.

use floe_slice::model::{Definition, DefinitionId, DefinitionKind, Exception, Member, Model};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::members::{Fields, declaration, gets, member_ident, puts};
use super::scope::{Scope, type_name};
use crate::names;

/// The struct, its text, and its slices.
pub(super) fn exception(scope: &Scope<'_>, id: DefinitionId) -> TokenStream {
    let definition = scope.model.definition(id);
    let name = names::ident(&type_name(definition));
    let members = all_members(scope.model, id);
    let fields = Fields {
        members: members.clone(),
        base: None,
    };
    let declaration = declaration(scope, definition, "exception", &fields);
    let display = display(definition, &name, &members);
    let slices = slices(scope, id, &name);
    quote! {
        #declaration
        #display
        impl ::std::error::Error for #name {}
        #slices
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

/// `::Demo::Rejected (reason = "rude")`
fn display(definition: &Definition, name: &Ident, members: &[&Member]) -> TokenStream {
    let scoped = &definition.scoped;
    let idents: Vec<Ident> = members.iter().map(|member| member_ident(member)).collect();
    let body = if members.is_empty() {
        quote!(f.write_str(#scoped))
    } else {
        let placeholders: Vec<String> = members
            .iter()
            .map(|member| format!("{} = {{:?}}", member.name))
            .collect();
        let format = format!("{scoped} ({})", placeholders.join(", "));
        quote!(::std::write!(f, #format, #(self.#idents),*))
    };
    quote! {
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                #body
            }
        }
    }
}

fn slices(scope: &Scope<'_>, id: DefinitionId, name: &Ident) -> TokenStream {
    let (root, result) = (scope.root(), scope.prelude("Result"));
    let scoped = &scope.model.definition(id).scoped;
    let chain = scope.model.exception_chain(id);
    let last = chain.len() - 1;
    let writes = chain
        .iter()
        .enumerate()
        .map(|(depth, level)| write_slice(scope.model, *level, depth == last));
    let writes = match has_instances(scope.model, id) {
        false => quote!(#(#writes)*),
        true => quote!(writer.with_classes(|writer| { #(#writes)* });),
    };
    let know = scope.know_classes(uses_classes(scope.model, id), quote!(reader));
    let reads = chain.iter().enumerate().map(|(depth, level)| {
        let members = &level_of(scope.model, *level).members;
        let read = |read| quote!(reader.members(#read));
        gets(members, |index| local(depth, index), read)
    });
    let fields = chain.iter().enumerate().rev().flat_map(|(depth, level)| {
        let members = &level_of(scope.model, *level).members;
        members.iter().enumerate().map(move |(index, member)| {
            let (field, local) = (member_ident(member), local(depth, index));
            quote!(#field: #local,)
        })
    });
    quote! {
        impl #root::UserException for #name {
            const TYPE_ID: &'static str = #scoped;
            fn encode_slices(&self, writer: &mut #root::ExceptionWriter<'_, '_>) {
                #writes
            }
            fn decode_slices(
                reader: &mut #root::ExceptionReader<'_>,
            ) -> #result<Self, #root::DecodeError> {
                #know
                #(#reads)*
                Ok(Self { #(#fields)* })
            }
        }
    }
}

/// Whether any member may hold a class instance.
fn uses_classes(model: &Model, id: DefinitionId) -> bool {
    let mut members = all_members(model, id).into_iter();
    members.any(|member| model.uses_classes(member.r#type))
}

/// Whether encoding 1.0 has instances behind the exception: tagged members are not written there.
fn has_instances(model: &Model, id: DefinitionId) -> bool {
    let members = all_members(model, id).into_iter();
    let mut required = members.filter(|member| member.tag.is_none());
    required.any(|member| model.uses_classes(member.r#type))
}

fn write_slice(model: &Model, level: DefinitionId, is_last: bool) -> TokenStream {
    let scoped = &model.definition(level).scoped;
    let members = &level_of(model, level).members;
    if members.is_empty() {
        return quote!(writer.slice(#scoped, #is_last, |_| {}););
    }
    let puts = puts(members);
    quote!(writer.slice(#scoped, #is_last, |encoder| { #puts });)
}

/// A local for a member; the names of members stay free for nothing else.
fn local(depth: usize, index: usize) -> Ident {
    format_ident!("member_{depth}_{index}")
}
