//! The Rust back-end: a checked model to one text with a `pub mod` for every Slice module.
//!
//! The text is meant for `include!` at any depth of a crate: inside, modules reach one another
//! through `super`, and `floe` through the path that the options give.

mod check;
mod clashes;
mod classes;
mod collections;
mod constants;
mod containers;
mod derive;
mod docs;
mod enums;
mod errors;
mod exceptions;
mod facts;
mod interface;
mod members;
mod options;
mod own_metadata;
mod scope;
mod structs;
mod types;
mod views;

use std::collections::{BTreeSet, HashMap};

use floe_slice::diagnostic::Diagnostic;
use floe_slice::model::{DefinitionId, DefinitionKind, Model};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

pub use options::RustOptions;

use crate::{names, threads, writer};
use clashes::Resolved;
use facts::Facts;
use scope::{Scope, is_external};

/// Rust source text for all definitions of a model but those that the options call external.
///
/// Equal models and options always give equal text. Of names that become one in Rust
/// (`maxCost` and `max_cost`), all but the first get underscores behind them;
/// [`generate_rust_with_warnings`] tells which.
///
/// # Errors
/// Diagnostics about metadata for Rust that are malformed, in the wrong place, or give one name to
/// two things.
pub fn generate_rust(model: &Model, options: &RustOptions) -> Result<String, Vec<Diagnostic>> {
    generate(&clashes::resolve(model, options)?, options)
}

/// Returns the text of [`generate_rust`], and a warning for each name that it had to change because another
/// one becomes the same. Files with `[["suppress-warning:all"]]` have none.
pub fn generate_rust_with_warnings(
    model: &Model,
    options: &RustOptions,
) -> (Result<String, Vec<Diagnostic>>, Vec<Diagnostic>) {
    match clashes::resolve(model, options) {
        Ok(mut resolved) => {
            let generated = generate(&resolved, options);
            resolved
                .warnings
                .retain(|warning| !is_suppressed(model, warning));
            (generated, resolved.warnings)
        }
        Err(findings) => (Err(findings), Vec::new()),
    }
}

fn generate(resolved: &Resolved<'_>, options: &RustOptions) -> Result<String, Vec<Diagnostic>> {
    let model = &*resolved.model;
    let facts = Facts::of(resolved, options);
    let findings = check::check(model, options, &facts);
    if !findings.is_empty() {
        return Err(findings);
    }
    let root = options.root();
    let imports = writer::Imports::new(scope::path(options.crate_path()), facts.names(model));
    let mut generator = Generator {
        model,
        options,
        facts,
        imports,
        laid_out: HashMap::new(),
    };
    generator.laid_out = generator.lay_out(root.len());
    let mut text = writer::Text::new(&header(model, &root));
    generator.module(&root, &mut text);
    Ok(text.finish())
}

/// Returns true if the file of a warning wants none.
fn is_suppressed(model: &Model, warning: &Diagnostic) -> bool {
    let file = warning.span.and_then(|span| model.files.get(span.file.0));
    let mut metadata = file.into_iter().flat_map(|file| &file.metadata);
    metadata.any(|one| one.text == "suppress-warning" || one.text == "suppress-warning:all")
}

struct Generator<'a> {
    model: &'a Model,
    options: &'a RustOptions,
    facts: Facts,
    /// The names that modules may import from `floe`.
    imports: writer::Imports,
    /// Each definition, at the depth at which it stands.
    laid_out: HashMap<DefinitionId, writer::LaidOut>,
}

impl Generator<'_> {
    /// Lays out each definition alone, as many at a time as there are processors: that is where the
    /// time goes, and one tree of a large contract would cost far more memory.
    fn lay_out(&self, root_len: usize) -> HashMap<DefinitionId, writer::LaidOut> {
        let ids: Vec<DefinitionId> = self.generated().collect();
        let laid_out = threads::for_each(&ids, |id| {
            let modules = &self.model.definition(id).modules;
            let depth = modules.len().saturating_sub(root_len);
            writer::layout(self.definition(modules, id), depth, &self.imports)
        });
        laid_out.into_iter().collect()
    }

    /// Writes the content of a module: its imports and definitions, then the modules in it.
    fn module(&self, modules: &[String], text: &mut writer::Text) {
        let table = classes::table(&self.scope(modules)).unwrap_or_default();
        let table = writer::layout(table, text.depth(), &self.imports);
        let own = self.generated();
        let own = own.filter(|id| self.model.definition(*id).modules == modules);
        let items: Vec<&writer::LaidOut> = own.map(|id| &self.laid_out[&id]).collect();
        let items = || [&table].into_iter().chain(items.iter().copied());
        let imported: BTreeSet<&String> = items().flat_map(|item| &item.imported).collect();
        text.items(self.imports(&imported));
        for item in items() {
            text.laid_out(&item.text);
        }
        for name in self.children(modules) {
            self.child(modules, name, text);
        }
    }

    /// Returns the imports of these names of `floe` in a module.
    fn imports(&self, names: &BTreeSet<&String>) -> TokenStream {
        let root = scope::path(self.options.crate_path());
        let names: Vec<Ident> = names.iter().map(|name| names::ident(name)).collect();
        match names.as_slice() {
            [] => quote!(),
            [name] => quote!(use #root::#name;),
            names => quote!(use #root::{#(#names),*};),
        }
    }

    fn child(&self, parents: &[String], name: &str, text: &mut writer::Text) {
        let modules: Vec<String> = parents.iter().cloned().chain([name.to_owned()]).collect();
        let doc = format!(" Slice module `::{}`.", modules.join("::"));
        let allow = parents.is_empty().then(|| self.allow());
        let ident = self.facts.module(&modules);
        text.open(quote! {
            #[doc = #doc]
            #allow
            pub mod #ident {}
        });
        self.module(&modules, text);
        text.close();
    }

    /// The lints that a contract may break: its author did not write Rust.
    fn allow(&self) -> TokenStream {
        let deprecated = check::mentions_deprecation(self.model).then(|| quote!(deprecated,));
        let changed = self.facts.has_changed_names;
        let changed = changed.then(|| quote!(non_camel_case_types,));
        quote! {
            #[allow(
                #deprecated
                #changed
                dead_code,
                missing_docs,
                unreachable_pub,
                clippy::all,
                rustdoc::all
            )]
        }
    }

    /// The names of the modules directly in a module, in the order of their first definition.
    fn children(&self, modules: &[String]) -> Vec<&str> {
        let mut children = Vec::new();
        for id in self.generated() {
            let inside = self.model.definition(id).modules.strip_prefix(modules);
            if let Some([name, ..]) = inside
                && !children.contains(&name.as_str())
            {
                children.push(name.as_str());
            }
        }
        children
    }

    fn generated(&self) -> impl Iterator<Item = DefinitionId> {
        self.model
            .iter()
            .filter(|(_, definition)| !is_external(self.options, definition))
            .map(|(id, _)| id)
    }

    fn scope<'s>(&'s self, modules: &'s [String]) -> Scope<'s> {
        Scope {
            model: self.model,
            options: self.options,
            modules,
            facts: &self.facts,
            root: scope::path(self.options.crate_path()),
        }
    }

    fn definition(&self, modules: &[String], id: DefinitionId) -> TokenStream {
        let scope = self.scope(modules);
        let definition = self.model.definition(id);
        match &definition.kind {
            DefinitionKind::Const(of) => constants::constant(&scope, definition, of),
            DefinitionKind::Enum(of) => enums::enumeration(&scope, definition, of),
            DefinitionKind::Struct(of) => {
                let owned = structs::structure(&scope, definition, of);
                let view = views::structure(&scope, id, of);
                quote!(#owned #view)
            }
            DefinitionKind::Sequence(of) => {
                let owned = collections::sequence(&scope, definition, of);
                let view = views::sequence(&scope, id);
                quote!(#owned #view)
            }
            DefinitionKind::Dictionary(of) => collections::dictionary(&scope, definition, of),
            DefinitionKind::Exception(_) => exceptions::exception(&scope, id),
            DefinitionKind::Interface(of) => interface::interface(&scope, id, of.is_complete),
            DefinitionKind::Class(of) => {
                let class = of.is_complete.then(|| classes::class(&scope, id, of));
                let is_object = self.facts.objects.contains(&id);
                let object = is_object.then(|| interface::interface(&scope, id, of.is_complete));
                quote!(#class #object)
            }
            _ => unreachable!("there are no other definitions"),
        }
    }
}

/// Returns the head of the text. A file that is a module takes inner docs, one that is
/// included cannot.
fn header(model: &Model, root: &[String]) -> String {
    let sources: Vec<String> = model
        .files
        .iter()
        .filter(|file| file.is_main)
        .filter_map(|file| file.path.file_name())
        .map(|name| format!("`{}`", name.to_string_lossy()))
        .collect();
    let sources = sources.join(", ");
    if root.is_empty() {
        format!("// Generated by floe-codegen from {sources}; changes will be lost.\n")
    } else {
        format!(
            "//! Slice module `::{}`.\n//!\n//! Generated by floe-codegen from {sources}; changes will be lost.\n",
            root.join("::")
        )
    }
}
