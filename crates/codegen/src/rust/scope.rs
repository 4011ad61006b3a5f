//! Where generated code stands, and how it names what stands elsewhere.

use floe_slice::model::{Definition, DefinitionId, DefinitionKind, Metadata, Model, Operation};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::RustOptions;
use super::facts::Facts;
use super::views;
use crate::names;

/// The scope of the code of one module.
pub(super) struct Scope<'a> {
    pub(super) model: &'a Model,
    pub(super) options: &'a RustOptions,
    /// Slice names of the modules around the code, outermost first.
    pub(super) modules: &'a [String],
    /// The facts about the whole model.
    pub(super) facts: &'a Facts,
    /// The path to the crate `floe`: to parse it anew wherever it stands takes its time.
    pub(super) root: TokenStream,
}

impl Scope<'_> {
    /// The path to the crate `floe`.
    pub(super) fn root(&self) -> TokenStream {
        self.root.clone()
    }

    /// The path to the type that a definition becomes, with `suffix` behind its name.
    pub(super) fn path(&self, id: DefinitionId, suffix: &str) -> TokenStream {
        let definition = self.model.definition(id);
        if let Some(external) = self.options.external_path(&definition.scoped) {
            return path(&format!("{external}{suffix}"));
        }
        self.beside(
            id,
            &names::ident(&format!("{}{suffix}", type_name(definition))),
        )
    }

    /// The path to the type of this name where the type is that a definition becomes.
    pub(super) fn beside(&self, id: DefinitionId, name: &Ident) -> TokenStream {
        let definition = self.model.definition(id);
        if let Some(external) = self.options.external_path(&definition.scoped) {
            let module = external.rsplit_once("::").map(|(module, _)| path(module));
            let module = module.map(|module| quote!(#module::));
            return quote!(#module #name);
        }
        for depth in (1..=definition.modules.len()).rev() {
            let scoped = format!("::{}", definition.modules[..depth].join("::"));
            if let Some(external) = self.options.external_path(&scoped) {
                let external = path(external);
                let inner = self.module_idents(&definition.modules, depth);
                return quote!(#external #(::#inner)* ::#name);
            }
        }
        self.relative(&definition.modules, name)
    }

    /// The path to the trait that a servant of an interface or class implements.
    pub(super) fn servant(&self, id: DefinitionId) -> TokenStream {
        self.path(id, servant_suffix(self.model.definition(id)))
    }

    /// The path to the trait that a servant without async implements.
    pub(super) fn blocking_servant(&self, id: DefinitionId) -> TokenStream {
        let suffix = servant_suffix(self.model.definition(id));
        self.path(id, &format!("{suffix}Blocking"))
    }

    /// Returns true if there is Rust for a definition that may be declared only: a module that is taken from
    /// elsewhere may not have it either.
    pub(super) fn is_known(&self, id: DefinitionId, is_complete: bool) -> bool {
        let scoped = &self.model.definition(id).scoped;
        is_complete || self.options.external_path(scoped).is_some()
    }

    /// The path to the table of classes, if there is one.
    pub(super) fn class_table(&self) -> Option<TokenStream> {
        let table = self.facts.table.as_ref()?;
        Some(self.relative(&table.modules, &names::ident(&table.name)))
    }

    /// A path through `super` and down again: the file may be included at any depth.
    pub(super) fn relative(&self, modules: &[String], name: &Ident) -> TokenStream {
        let common = self
            .modules
            .iter()
            .zip(modules)
            .take_while(|(here, there)| here == there)
            .count();
        let up = vec![quote!(super::); self.modules.len() - common];
        let down = self.module_idents(modules, common);
        if up.is_empty() && !down.is_empty() {
            return quote!(self:: #(#down::)* #name);
        }
        quote!(#(#up)* #(#down::)* #name)
    }

    /// The identifiers of modules, without the outermost `from`.
    fn module_idents(&self, modules: &[String], from: usize) -> Vec<Ident> {
        (from..modules.len())
            .map(|depth| self.facts.module(&modules[..=depth]))
            .collect()
    }

    /// A name of the prelude, by its whole path only where a definition hides it.
    pub(super) fn prelude(&self, name: &str) -> TokenStream {
        if !self.facts.type_names.contains(name) {
            let name = names::ident(name);
            return quote!(#name);
        }
        let whole = PRELUDE.iter().find(|(short, _)| *short == name);
        path(whole.map_or(name, |(_, whole)| whole))
    }

    /// A name for a type parameter that no definition has.
    pub(super) fn type_parameter(&self) -> Ident {
        let mut name = "S".to_owned();
        while self.facts.type_names.contains(&name) {
            name.push('_');
        }
        names::ident(&name)
    }
}

/// Returns true if a definition is taken from existing Rust.
pub(super) fn is_external(options: &RustOptions, definition: &Definition) -> bool {
    options.external_path(&definition.scoped).is_some()
        || (1..=definition.modules.len()).any(|depth| {
            let scoped = format!("::{}", definition.modules[..depth].join("::"));
            options.external_path(&scoped).is_some()
        })
}

/// The Rust names of the types that a definition becomes; `is_object` says of a class that it has
/// proxies.
pub(super) fn type_names(
    definition: &Definition,
    is_object: bool,
    options: &RustOptions,
) -> Vec<String> {
    let name = type_name(definition);
    let proxy = format!("{name}Proxy");
    let dispatcher = format!("{name}Dispatcher");
    match &definition.kind {
        DefinitionKind::Const(_) => Vec::new(),
        DefinitionKind::Interface(interface) if !interface.is_complete => vec![proxy],
        DefinitionKind::Interface(_) => [proxy, dispatcher]
            .into_iter()
            .chain(servant_names(definition, options))
            .collect(),
        DefinitionKind::Class(class) => {
            let mut names = Vec::new();
            if class.is_complete {
                names.push(name);
            }
            if is_object {
                names.push(proxy);
            }
            if is_object && class.is_complete {
                names.push(dispatcher);
                names.extend(servant_names(definition, options));
            }
            names
        }
        _ if views::is_asked_for(definition) => vec![format!("{name}{}", views::SUFFIX), name],
        _ => vec![name],
    }
}

/// The names of the traits for servants, with async and without.
fn servant_names(definition: &Definition, options: &RustOptions) -> Vec<String> {
    let name = servant_name(definition);
    let blocking = options.is_blocking().then(|| format!("{name}Blocking"));
    [name].into_iter().chain(blocking).collect()
}

/// The name of the trait that a servant implements: for a class the struct has the plain name.
pub(super) fn servant_name(definition: &Definition) -> String {
    format!("{}{}", type_name(definition), servant_suffix(definition))
}

fn servant_suffix(definition: &Definition) -> &'static str {
    match definition.kind {
        DefinitionKind::Class(_) => "Servant",
        _ => "",
    }
}

/// The name of the Rust type, without the suffix of a proxy or dispatcher.
pub(super) fn type_name(definition: &Definition) -> String {
    spelled(&definition.name, &definition.metadata, names::upper_camel)
}

/// A name in the given spelling, or as `["rust:identifier:..."]` says.
pub(super) fn spelled(name: &str, metadata: &[Metadata], spelling: fn(&str) -> String) -> String {
    metadata
        .iter()
        .find_map(|directive| directive.text.strip_prefix("rust:identifier:"))
        .map_or_else(|| spelling(name), str::to_owned)
}

/// The identifier of a field, function or parameter.
pub(super) fn snake_ident(name: &str, metadata: &[Metadata]) -> Ident {
    names::ident(&spelled(name, metadata, names::snake))
}

/// The identifier of a module, if no other one has it.
pub(super) fn module_ident(name: &str) -> Ident {
    names::ident(&module_text(name))
}

/// The name of a module. One named like a built-in type would hide it from its siblings.
pub(super) fn module_text(name: &str) -> String {
    let name = names::snake(name);
    if BUILT_IN_TYPES.contains(&name.as_str()) {
        return format!("{name}_");
    }
    name
}

/// The operations that a definition declares.
pub(super) fn operations_of(definition: &mut Definition) -> &mut [Operation] {
    match &mut definition.kind {
        DefinitionKind::Interface(interface) => &mut interface.operations,
        DefinitionKind::Class(class) => &mut class.operations,
        _ => &mut [],
    }
}

/// A path as tokens; every path given by a caller was checked when it was given.
pub(super) fn path(text: &str) -> TokenStream {
    text.parse().expect("a Rust path")
}

const BUILT_IN_TYPES: [&str; 9] = [
    "bool", "f32", "f64", "i16", "i32", "i64", "str", "u8", "usize",
];

const PRELUDE: [(&str, &str); 6] = [
    ("Option", "::std::option::Option"),
    ("Result", "::std::result::Result"),
    ("Send", "::std::marker::Send"),
    ("String", "::std::string::String"),
    ("Sync", "::std::marker::Sync"),
    ("Vec", "::std::vec::Vec"),
];
