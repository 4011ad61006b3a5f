//! The error enum of operations: their exceptions, and what else can go wrong with a call.

use floe_slice::model::DefinitionId;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::names;
use crate::rust::errors::ErrorSet;
use crate::rust::scope::Scope;

/// The enum, its conversions and its encoding; or the name of one that another module has.
pub(super) fn error(scope: &Scope<'_>, set: &ErrorSet) -> TokenStream {
    let name = names::ident(&set.name);
    if let Some(home) = scope.facts.errors.home(set) {
        let other = names::ident(&home.name);
        let path = scope.relative(&home.modules, &other);
        let r#as = (name != other).then(|| quote!(as #name));
        return quote!(pub use #path #r#as;);
    }
    let variants = set.variants(scope.model);
    let declaration = declaration(scope, set, &name, &variants);
    let root = scope.root();
    let exceptions = variants.iter().map(|(id, variant)| {
        let path = scope.path(*id, "");
        quote!(#variant(#path))
    });
    let subsets = scope.facts.errors.subsets(set).map(|subset| {
        let path = scope.relative(&subset.modules, &names::ident(&subset.name));
        let variants = subset.variants(scope.model);
        let variants = variants.iter().map(|(_, variant)| variant);
        quote!(from #path { #(#variants),* })
    });
    let table = scope.class_table();
    let classes = table.map(|table| quote!(classes #table));
    quote! {
        #declaration
        #root::codegen::errors!(#name { #(#exceptions),* } #(#subsets)* #classes);
    }
}

fn declaration(
    scope: &Scope<'_>,
    set: &ErrorSet,
    name: &Ident,
    variants: &[(DefinitionId, Ident)],
) -> TokenStream {
    let root = scope.root();
    let scoped = |id: &DefinitionId| format!("`{}`", scope.model.definition(*id).scoped);
    let throws: Vec<String> = set.throws.iter().map(scoped).collect();
    let doc = format!(
        " What an operation that throws {} fails with.",
        throws.join(" or ")
    );
    let variants = variants.iter().map(|(id, variant)| {
        let doc = format!(" User exception `{}`.", scope.model.definition(*id).scoped);
        let path = scope.path(*id, "");
        quote!(#[doc = #doc] #variant(#path),)
    });
    quote! {
        #[doc = #doc]
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum #name {
            #(#variants)*
            /// Anything but a declared user exception.
            Invoke(#root::InvokeError),
        }
    }
}
