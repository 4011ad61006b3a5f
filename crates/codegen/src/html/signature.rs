//! Types, names and values as code, with links.

use floe_slice::model::{ConstValue, DefinitionId, DefinitionKind, Metadata, Primitive, Type};

use super::{Page, escape, links};

impl Page<'_> {
    /// A type as code, seen from the scope of `modules`.
    pub(super) fn r#type(&self, r#type: Type, modules: &[String]) -> String {
        match r#type {
            Type::Primitive(primitive) => keyword(primitive.keyword()),
            Type::ObjectProxy => format!("{}*", keyword("Object")),
            Type::Named(id) => self.name(id, modules),
            Type::Proxy(id) => format!("{}*", self.name(id, modules)),
            _ => keyword("Object"),
        }
    }

    /// The type of something that may be optional.
    pub(super) fn tagged(&self, r#type: Type, tag: Option<i32>, modules: &[String]) -> String {
        let r#type = self.r#type(r#type, modules);
        match tag {
            Some(tag) => format!("{}({tag}) {type}", keyword("optional")),
            None => r#type,
        }
    }

    /// The name of a definition, as short as the scope allows, with a link if it is on the page.
    pub(super) fn name(&self, id: DefinitionId, modules: &[String]) -> String {
        let definition = self.model.definition(id);
        let name = relative(&definition.scoped, modules, &definition.modules);
        if self.links.is_shown(id) {
            let anchor = links::anchor(&definition.scoped);
            return format!("<a href=\"#{anchor}\">{name}</a>");
        }
        let file = &self.model.files[definition.file.0].path;
        let file = escape(&file.display().to_string());
        format!("<span class=\"far\" title=\"defined in {file}\">{name}</span>")
    }

    pub(super) fn names(&self, ids: &[DefinitionId], modules: &[String]) -> String {
        let names: Vec<String> = ids.iter().map(|id| self.name(*id, modules)).collect();
        names.join(", ")
    }

    /// A value as Slice writes it.
    pub(super) fn value(&self, r#type: Type, value: &ConstValue) -> String {
        let is_single = r#type == Type::Primitive(Primitive::Float);
        match value {
            ConstValue::Bool(value) => keyword(&value.to_string()),
            ConstValue::Integer(value) => value.to_string(),
            ConstValue::Float(value) if is_single => format!("{:?}", *value as f32),
            ConstValue::Float(value) => format!("{value:?}"),
            ConstValue::String(text) => {
                let text: String = text.chars().flat_map(char::escape_debug).collect();
                escape(&format!("\"{text}\""))
            }
            ConstValue::Enumerator { of, index } => {
                let definition = self.model.definition(*of);
                match &definition.kind {
                    DefinitionKind::Enum(of) => of.enumerators[*index].name.clone(),
                    _ => String::new(),
                }
            }
        }
    }
}

/// A scoped name as short as it can be in the scope of `modules`; `within` are its own modules.
pub(super) fn relative<'n>(scoped: &'n str, modules: &[String], within: &[String]) -> &'n str {
    let shared = match modules.starts_with(within) {
        true => within,
        false if within.starts_with(modules) => modules,
        false => &[],
    };
    let skipped: usize = shared.iter().map(|module| module.len() + "::".len()).sum();
    &scoped["::".len() + skipped..]
}

/// A keyword as code.
pub(super) fn keyword(word: &str) -> String {
    format!("<span class=\"kw\">{word}</span>")
}

/// The metadata before a declaration, each on a line of its own; what is shown otherwise is left out.
pub(super) fn metadata(metadata: &[Metadata]) -> String {
    let shown = metadata
        .iter()
        .filter(|it| !it.text.starts_with("deprecate"));
    let lines = shown.map(|it| {
        format!(
            "<span class=\"md\">[&quot;{}&quot;]</span>\n",
            escape(&it.text)
        )
    });
    lines.collect()
}
