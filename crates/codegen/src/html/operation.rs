//! One operation of an interface.

use floe_slice::model::{Definition, Operation, Parameter};

use super::comment::{Comment, deprecation};
use super::definition::table;
use super::signature::{keyword, metadata};
use super::{Page, links};

impl Page<'_> {
    pub(super) fn operation(&self, interface: &Definition, operation: &Operation) -> String {
        let scoped = format!("{}::{}", interface.scoped, operation.name);
        let anchor = links::anchor(&scoped);
        let name = &operation.name;
        let mut html = format!(
            "<section class=\"operation\" id=\"{anchor}\">\n<h4>{name} \
             <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to {name}\">#</a></h4>\n"
        );
        let doc = operation.doc.as_deref();
        html.push_str(&self.deprecated(deprecation(&operation.metadata, doc), &scoped));
        let signature = self.signature(interface, operation);
        html.push_str(&format!("<pre class=\"slice\">{signature}</pre>\n"));
        let comment = Comment::parse(doc);
        html.push_str(&self.text(&comment.text, &scoped));
        html.push_str(&self.parameters(interface, operation, &comment, &scoped));
        html.push_str(&self.throws(interface, operation, &comment, &scoped));
        html.push_str(&self.see(&comment, &scoped));
        html.push_str("</section>\n");
        html
    }

    fn signature(&self, interface: &Definition, operation: &Operation) -> String {
        let modules = &interface.modules;
        let idempotent = match operation.is_idempotent {
            true => format!("{} ", keyword("idempotent")),
            false => String::new(),
        };
        let returns = match &operation.returns {
            Some(returned) => self.tagged(returned.r#type, returned.tag, modules),
            None => keyword("void"),
        };
        let parameters: Vec<String> = operation
            .parameters
            .iter()
            .map(|it| self.parameter(it, modules))
            .collect();
        let parameters = match parameters.len() {
            0..=2 => parameters.join(", "),
            _ => format!("\n    {}", parameters.join(",\n    ")),
        };
        let throws = match &*operation.throws {
            [] => String::new(),
            throws => format!(
                "\n    {} {}",
                keyword("throws"),
                self.names(throws, modules)
            ),
        };
        let metadata = metadata(&operation.metadata);
        let name = &operation.name;
        format!("{metadata}{idempotent}{returns} <b>{name}</b>({parameters}){throws};")
    }

    fn parameter(&self, parameter: &Parameter, modules: &[String]) -> String {
        let out = match parameter.is_out {
            true => format!("{} ", keyword("out")),
            false => String::new(),
        };
        let r#type = self.tagged(parameter.r#type, parameter.tag, modules);
        format!("{out}{type} {}", parameter.name)
    }

    /// Writes the parameters and the result, if anything is said about them.
    fn parameters(
        &self,
        interface: &Definition,
        operation: &Operation,
        comment: &Comment<'_>,
        scope: &str,
    ) -> String {
        let returned = comment.tag("return");
        let has_text = operation.parameters.iter().any(|it| it.doc.is_some());
        if !has_text && returned.is_none() {
            return String::new();
        }
        let modules = &interface.modules;
        let line = |name: &str, direction: &str, r#type: &str, doc: &str| {
            format!(
                "<tr><td>{name}</td><td>{direction}</td><td><code>{type}</code></td><td>{doc}</td></tr>\n"
            )
        };
        let mut rows: Vec<String> = operation
            .parameters
            .iter()
            .map(|it| {
                let direction = if it.is_out { "out" } else { "in" };
                let r#type = self.tagged(it.r#type, it.tag, modules);
                let doc = self.described(&it.metadata, it.doc.as_deref(), scope);
                line(
                    &format!("<code>{}</code>", it.name),
                    direction,
                    &r#type,
                    &doc,
                )
            })
            .collect();
        if let Some(of) = &operation.returns {
            let r#type = self.tagged(of.r#type, of.tag, modules);
            let lines: Vec<&str> = returned.unwrap_or("").lines().collect();
            rows.push(line("", "returns", &r#type, &self.text(&lines, scope)));
        }
        table(&["Name", "", "Type", "Description"], rows.into_iter())
    }

    /// The exceptions of which the comment says when they come.
    fn throws(
        &self,
        interface: &Definition,
        operation: &Operation,
        comment: &Comment<'_>,
        scope: &str,
    ) -> String {
        let rows: Vec<String> = comment
            .tags
            .iter()
            .filter(|tag| tag.tag == "throws")
            .map(|tag| {
                let (name, text) = tag.named();
                let declared = operation.throws.iter().find(|id| {
                    let scoped = &self.model.definition(**id).scoped;
                    scoped == name
                        || scoped.ends_with(&format!("::{}", name.trim_start_matches("::")))
                });
                let name = match declared {
                    Some(id) => format!("<code>{}</code>", self.name(*id, &interface.modules)),
                    None => self.reference(name, scope),
                };
                let lines: Vec<&str> = text.lines().collect();
                format!(
                    "<tr><td>{name}</td><td>{}</td></tr>\n",
                    self.text(&lines, scope)
                )
            })
            .collect();
        match rows.is_empty() {
            true => String::new(),
            false => table(&["Throws", "When"], rows.into_iter()),
        }
    }
}
