//! One definition of the page.

use floe_slice::model::{
    Class, Definition, DefinitionId, DefinitionKind, Dictionary, Enum, Member,
};

use super::comment::{Comment, deprecation};
use super::signature::{keyword, metadata, relative};
use super::{Page, escape, links};

impl Page<'_> {
    pub(super) fn definition(&self, id: DefinitionId) -> String {
        let definition = self.model.definition(id);
        let scoped = &definition.scoped;
        let anchor = links::anchor(scoped);
        let (kind, signature, content) = self.parts(id, definition);
        let name = &definition.name;
        let mut html = format!(
            "<article id=\"{anchor}\">\n<h3><span class=\"kind\">{kind}</span> {name} \
             <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to {name}\">#</a></h3>\n"
        );
        let doc = definition.doc.as_deref();
        html.push_str(&self.deprecated(deprecation(&definition.metadata, doc), scoped));
        let metadata = metadata(&definition.metadata);
        html.push_str(&format!(
            "<pre class=\"slice\">{metadata}{signature}</pre>\n"
        ));
        let comment = Comment::parse(doc);
        html.push_str(&self.text(&comment.text, scoped));
        html.push_str(&self.see(&comment, scoped));
        html.push_str(&content);
        html.push_str(&self.relations(id, definition));
        html.push_str("</article>\n");
        html
    }

    /// The kind, the declaration and the content of a definition.
    fn parts(&self, id: DefinitionId, definition: &Definition) -> (&'static str, String, String) {
        let modules = &definition.modules;
        let name = &definition.name;
        let head = |kind: &str| format!("{} <b>{name}</b>", keyword(kind));
        let extends = |bases: &[DefinitionId]| match bases {
            [] => String::new(),
            bases => format!(" {} {}", keyword("extends"), self.names(bases, modules)),
        };
        match &definition.kind {
            DefinitionKind::Const(of) => {
                let r#type = self.r#type(of.r#type, modules);
                let value = self.value(of.r#type, &of.value);
                let text = format!("{} {type} <b>{name}</b> = {value};", keyword("const"));
                ("const", text, String::new())
            }
            DefinitionKind::Enum(of) => ("enum", head("enum"), self.enumerators(definition, of)),
            DefinitionKind::Struct(of) => (
                "struct",
                head("struct"),
                self.members(definition, &of.members),
            ),
            DefinitionKind::Sequence(of) => {
                let element = self.r#type(of.element, modules);
                let text = format!("{}&lt;{element}&gt; <b>{name}</b>;", keyword("sequence"));
                ("sequence", text, String::new())
            }
            DefinitionKind::Dictionary(of) => {
                ("dictionary", self.dictionary(definition, of), String::new())
            }
            DefinitionKind::Exception(of) => {
                let base: Vec<DefinitionId> = of.base.into_iter().collect();
                let text = head("exception") + &extends(&base);
                ("exception", text, self.members(definition, &of.members))
            }
            DefinitionKind::Class(of) => {
                let base: Vec<DefinitionId> = of.base.into_iter().collect();
                let mut text = head("class") + &compact_id(of) + &extends(&base);
                if !of.implements.is_empty() {
                    let implements = self.names(&of.implements, modules);
                    text.push_str(&format!(" {} {implements}", keyword("implements")));
                }
                let members = self.members(definition, &of.members);
                ("class", text, members + &self.operations(id, definition))
            }
            DefinitionKind::Interface(of) => {
                let text = head("interface") + &extends(&of.bases);
                ("interface", text, self.operations(id, definition))
            }
            _ => ("definition", head("definition"), String::new()),
        }
    }

    fn dictionary(&self, definition: &Definition, of: &Dictionary) -> String {
        let key = self.r#type(of.key, &definition.modules);
        let value = self.r#type(of.value, &definition.modules);
        let name = &definition.name;
        format!(
            "{}&lt;{key}, {value}&gt; <b>{name}</b>;",
            keyword("dictionary")
        )
    }

    fn enumerators(&self, definition: &Definition, of: &Enum) -> String {
        let scoped = &definition.scoped;
        let rows = of.enumerators.iter().map(|it| {
            let doc = self.described(&it.metadata, it.doc.as_deref(), scoped);
            row(scoped, &it.name, &[it.value.to_string()], &doc)
        });
        table(&["Name", "Value", "Description"], rows)
    }

    fn members(&self, definition: &Definition, members: &[Member]) -> String {
        if members.is_empty() {
            return String::new();
        }
        let scoped = &definition.scoped;
        let has_defaults = members.iter().any(|it| it.default.is_some());
        let rows = members.iter().map(|it| {
            let doc = self.described(&it.metadata, it.doc.as_deref(), scoped);
            let mut cells = vec![self.tagged(it.r#type, it.tag, &definition.modules)];
            if has_defaults {
                let default = it
                    .default
                    .as_ref()
                    .map(|value| self.value(it.r#type, value));
                cells.push(default.unwrap_or_default());
            }
            row(scoped, &it.name, &cells, &doc)
        });
        match has_defaults {
            true => table(&["Name", "Type", "Default", "Description"], rows),
            false => table(&["Name", "Type", "Description"], rows),
        }
    }

    fn operations(&self, id: DefinitionId, definition: &Definition) -> String {
        let own = self.model.own_operations(id).iter();
        let mut html: String = own.map(|it| self.operation(definition, it)).collect();
        let inherited = self.model.all_operations(id);
        let inherited = inherited.iter().filter(|(owner, _)| *owner != id);
        let links: Vec<String> = inherited
            .map(|(owner, operation)| {
                let owner = self.model.definition(*owner);
                let scoped = format!("{}::{}", owner.scoped, operation.name);
                let shown = relative(&scoped, &definition.modules, &owner.modules);
                match self.links.has(&scoped) {
                    true => format!("<a href=\"#{}\">{shown}</a>", links::anchor(&scoped)),
                    false => shown.to_owned(),
                }
            })
            .collect();
        if !links.is_empty() {
            html.push_str(&relation("Inherits", &links));
        }
        html
    }

    /// Returns the lists of definitions that extend or use this one.
    fn relations(&self, id: DefinitionId, definition: &Definition) -> String {
        let mut derived = Vec::new();
        for (other, candidate) in self.model.iter() {
            let is_derived = match &candidate.kind {
                DefinitionKind::Exception(of) => of.base == Some(id),
                _ => self.model.own_bases(other).contains(&id),
            };
            if is_derived && self.links.is_shown(other) {
                derived.push(self.name(other, &definition.modules));
            }
        }
        let module = format!("::{}::", definition.modules.join("::"));
        let users: Vec<String> = self
            .links
            .users(id)
            .map(|user| {
                let shown = user.strip_prefix(&module).unwrap_or(&user[2..]);
                format!("<a href=\"#{}\">{shown}</a>", links::anchor(user))
            })
            .collect();
        let mut html = String::new();
        if !derived.is_empty() {
            html.push_str(&relation("Extended by", &derived));
        }
        if !users.is_empty() {
            html.push_str(&relation("Used by", &users));
        }
        html
    }

    /// The deprecation and the text of something in a table.
    pub(super) fn described(
        &self,
        metadata: &[floe_slice::model::Metadata],
        doc: Option<&str>,
        scope: &str,
    ) -> String {
        let comment = Comment::parse(doc);
        let mut html = self.deprecated(deprecation(metadata, doc), scope);
        html.push_str(&self.text(&comment.text, scope));
        html.push_str(&self.see(&comment, scope));
        html
    }

    pub(super) fn deprecated(&self, why: Option<String>, scope: &str) -> String {
        match why {
            None => String::new(),
            Some(why) => {
                let colon = if why.is_empty() { "" } else { ": " };
                let why = self.inline(&why, scope);
                format!("<p class=\"deprecated\"><b>Deprecated</b>{colon}{why}</p>\n")
            }
        }
    }

    pub(super) fn see(&self, comment: &Comment<'_>, scope: &str) -> String {
        let tags = comment.tags.iter().filter(|tag| tag.tag == "see");
        let links: Vec<String> = tags
            .map(|tag| match tag.named() {
                (name, "") => self.reference(name, scope),
                _ => self.inline(&tag.text, scope),
            })
            .collect();
        match links.is_empty() {
            true => String::new(),
            false => relation("See", &links),
        }
    }
}

fn compact_id(of: &Class) -> String {
    of.compact_id.map_or(String::new(), |id| format!("({id})"))
}

fn relation(label: &str, links: &[String]) -> String {
    let links = links.join(", ");
    format!("<p class=\"relation\"><b>{label}</b> {links}</p>\n")
}

/// A table with these headings.
pub(super) fn table(headings: &[&str], rows: impl Iterator<Item = String>) -> String {
    let headings: String = headings.iter().map(|it| format!("<th>{it}</th>")).collect();
    let rows: String = rows.collect();
    format!(
        "<div class=\"table\"><table>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// A row of something with a name and an anchor of its own.
fn row(scoped: &str, name: &str, cells: &[String], doc: &str) -> String {
    let anchor = links::anchor(&format!("{scoped}::{name}"));
    let name = escape(name);
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td><code>{cell}</code></td>"))
        .collect();
    format!(
        "<tr id=\"{anchor}\"><td><a class=\"self\" href=\"#{anchor}\"><code>{name}</code></a></td>{cells}<td>{doc}</td></tr>\n"
    )
}
