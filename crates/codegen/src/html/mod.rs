//! A contract as one HTML page: a reference for people, without anything outside of the page.
//!
//! ```text
//! mod.rs         the page: index, modules, and what stands in them
//! definition.rs  one definition
//! operation.rs   one operation of an interface
//! signature.rs   types, names and values as code, with links
//! comment.rs     doc comments: text, tags, links
//! links.rs       which name is which anchor, and what uses what
//! style.css      how it looks, in light and in dark, on paper too
//! ```
//!
//! The page holds no script and loads nothing. All text of a contract is escaped.

mod comment;
mod definition;
mod links;
mod operation;
mod signature;

use std::collections::BTreeMap;

use floe_slice::Model;
use floe_slice::model::{Definition, DefinitionId, DefinitionKind};

use links::Links;

/// The definitions of the main files of a model as one HTML page.
///
/// Every definition, member and operation has an anchor: `::Demo::Greeter::greet` is `#Demo.Greeter.greet`.
/// Names of included files are shown without a link.
///
/// ```
/// let compilation = floe_slice::check_source(b"module Demo { /** A place. */ struct Point { int x; } }");
/// let page = floe_codegen::generate_html(&compilation.model, "Demo");
/// assert!(page.contains("<p>A place.</p>"));
/// assert!(page.contains("id=\"Demo.Point.x\""));
/// ```
pub fn generate_html(model: &Model, title: &str) -> String {
    let page = Page {
        model,
        links: Links::new(model),
    };
    let modules = page.modules();
    let title = escape(title);
    let index = page.index(&modules);
    let content: String = modules
        .iter()
        .map(|(module, definitions)| page.module(module, definitions))
        .collect();
    let summary = summary(&modules, model);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <nav aria-label=\"Definitions\">\n<p class=\"title\"><a href=\"#page-top\">{title}</a></p>\n{index}</nav>\n\
         <main id=\"page-top\">\n<h1>{title}</h1>\n<p class=\"summary\">{summary}</p>\n{content}</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = include_str!("style.css");

/// Modules by scoped name without the leading `::`, with their own definitions in order.
type Modules = BTreeMap<String, Vec<DefinitionId>>;

/// The input that all parts of the page are made from.
struct Page<'m> {
    model: &'m Model,
    links: Links<'m>,
}

impl Page<'_> {
    fn modules(&self) -> Modules {
        let mut modules = Modules::new();
        for (id, definition) in self.model.iter() {
            if self.links.is_shown(id) {
                let module = definition.modules.join("::");
                modules.entry(module).or_default().push(id);
            }
        }
        for definitions in modules.values_mut() {
            let name = |id: &DefinitionId| self.model.definition(*id).name.to_ascii_lowercase();
            definitions.sort_by_key(|id| (group(self.model.definition(*id)).0, name(id)));
        }
        modules
    }

    fn index(&self, modules: &Modules) -> String {
        let mut text = String::new();
        for (module, definitions) in modules {
            let anchor = module.replace("::", ".");
            text.push_str(&format!("<h2><a href=\"#{anchor}\">{module}</a></h2>\n"));
            let mut last = "";
            for id in definitions {
                let definition = self.model.definition(*id);
                let (_, heading) = group(definition);
                if heading != last {
                    let end = if last.is_empty() { "" } else { "</ul>\n" };
                    text.push_str(&format!("{end}<h3>{heading}</h3>\n<ul>\n"));
                    last = heading;
                }
                let class =
                    match comment::deprecation(&definition.metadata, definition.doc.as_deref()) {
                        Some(_) => " class=\"old\"",
                        None => "",
                    };
                let anchor = links::anchor(&definition.scoped);
                let name = &definition.name;
                text.push_str(&format!(
                    "<li><a{class} href=\"#{anchor}\">{name}</a></li>\n"
                ));
            }
            text.push_str("</ul>\n");
        }
        text
    }

    fn module(&self, module: &str, definitions: &[DefinitionId]) -> String {
        let anchor = module.replace("::", ".");
        let content: String = definitions.iter().map(|id| self.definition(*id)).collect();
        format!(
            "<section class=\"module\" id=\"{anchor}\">\n<h2><span class=\"kind\">module</span> {module}</h2>\n{content}</section>\n"
        )
    }
}

/// How many definitions there are, and from which files.
fn summary(modules: &Modules, model: &Model) -> String {
    let count: usize = modules.values().map(Vec::len).sum();
    let files = model.files.iter().filter(|file| file.is_main);
    let names = files.filter_map(|file| Some(file.path.file_name()?.to_string_lossy()));
    let names: Vec<String> = names
        .map(|name| format!("<code>{}</code>", escape(&name)))
        .collect();
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} definition{plural} from {}", names.join(", "))
}

/// The place of a definition in its module, and the heading that it stands under in the index.
fn group(definition: &Definition) -> (usize, &'static str) {
    match definition.kind {
        DefinitionKind::Interface(_) => (0, "Interfaces"),
        DefinitionKind::Class(_) => (1, "Classes"),
        DefinitionKind::Struct(_) => (2, "Structures"),
        DefinitionKind::Enum(_) => (3, "Enumerations"),
        DefinitionKind::Exception(_) => (4, "Exceptions"),
        DefinitionKind::Sequence(_) | DefinitionKind::Dictionary(_) => (5, "Collections"),
        DefinitionKind::Const(_) => (6, "Constants"),
        _ => (7, "Others"),
    }
}

/// A text that HTML takes as it is, also inside of quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
