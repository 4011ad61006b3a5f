//! Data types and constants.

use floe_slice::model::{
    Const, ConstValue, DefinitionId, DefinitionKind, Dictionary, Enum, Sequence, Struct, Type,
};

use super::text::written;
use super::{Generator, Idl};
use crate::foreign::Made;

/// A member of something that is written as a structure.
pub(super) struct Field<'m> {
    pub(super) name: &'m str,
    pub(super) doc: Option<&'m str>,
    pub(super) r#type: Type,
    /// The sequence of at most one value that IDL 2 has for a member that may be unset, and the definition that it was
    /// made for.
    pub(super) optional: Option<(DefinitionId, Made)>,
}

impl Generator<'_> {
    pub(super) fn constant(&mut self, id: DefinitionId, of: &Const) {
        let value = match &of.value {
            ConstValue::Bool(true) => "TRUE".to_owned(),
            ConstValue::Bool(false) => "FALSE".to_owned(),
            ConstValue::Integer(value) => integer(*value),
            // Every digit that the value needs: a `float` was rounded already.
            ConstValue::Float(value) => format!("{value:?}"),
            ConstValue::String(text) => string(text),
            ConstValue::Enumerator { of, index } => {
                let DefinitionKind::Enum(list) = &self.model.definition(*of).kind else {
                    unreachable!("an enumerator is one of an enumeration");
                };
                let name = list.enumerators[*index].name.clone();
                self.made_path(*of, Made::Enumerator(name))
            }
        };
        let line = format!(
            "const {} {} = {value};",
            self.r#type(of.r#type),
            self.name(id)
        );
        self.begin(id);
        self.text.line(&line);
    }

    pub(super) fn enumeration(&mut self, id: DefinitionId, of: &Enum) {
        let mut ordinals = of.enumerators.iter().zip(0..);
        let has_values = ordinals.any(|(it, ordinal)| it.value != ordinal);
        let enumerators: Vec<(String, Option<&str>)> = of
            .enumerators
            .iter()
            .map(|it| {
                let name = written(self.naming.made(id, Made::Enumerator(it.name.clone())));
                let value = match has_values && self.idl == Idl::Dds {
                    true => format!("@value({}) ", it.value),
                    false => String::new(),
                };
                (format!("{value}{name}"), it.doc.as_deref())
            })
            .collect();
        self.begin(id);
        if has_values && self.idl == Idl::Corba {
            self.text.line(
                "// An enumerator travels as its place here; IDL 2 has no values for enumerators.",
            );
        }
        let name = self.name(id);
        self.enumerators(&name, &enumerators);
    }

    /// An enumeration in one line if that is short and has no comments.
    pub(super) fn enumerators(&mut self, name: &str, enumerators: &[(String, Option<&str>)]) {
        let names: Vec<&str> = enumerators.iter().map(|(name, _)| name.as_str()).collect();
        let line = format!("enum {name} {{ {} }};", names.join(", "));
        let has_docs = enumerators.iter().any(|(_, doc)| doc.is_some());
        if line.len() <= LINE_MAX && !has_docs {
            return self.text.line(&line);
        }
        self.text.open(&format!("enum {name} {{"));
        for (index, (name, doc)) in enumerators.iter().enumerate() {
            let comma = if index + 1 < enumerators.len() {
                ","
            } else {
                ""
            };
            self.text.doc(*doc);
            self.text.line(&format!("{name}{comma}"));
        }
        self.text.close("};");
    }

    pub(super) fn structure(&mut self, id: DefinitionId, of: &Struct) {
        let fields: Vec<Field> = of
            .members
            .iter()
            .map(|member| Field {
                name: &member.name,
                doc: member.doc.as_deref(),
                r#type: member.r#type,
                optional: None,
            })
            .collect();
        self.begin(id);
        let name = self.naming.definition(id).to_owned();
        self.fields("struct", &name, &fields);
    }

    /// A structure or exception with these members; `name` is not yet written as IDL wants it.
    pub(super) fn fields(&mut self, keyword: &str, name: &str, fields: &[Field]) {
        let names = self.naming.members(name, fields.iter().map(|it| it.name));
        let is_data = keyword == "struct" && self.idl == Idl::Dds;
        let is_final = if is_data { "@final " } else { "" };
        self.text
            .open(&format!("{is_final}{keyword} {} {{", written(name)));
        for (field, name) in fields.iter().zip(names) {
            let r#type = match (&field.optional, self.idl) {
                (Some(_), Idl::Dds) => format!("@optional {}", self.r#type(field.r#type)),
                (Some((owner, made)), Idl::Corba) => self.made_path(*owner, made.clone()),
                (None, _) => self.r#type(field.r#type),
            };
            self.text.doc(field.doc);
            self.text.line(&format!("{} {};", r#type, written(&name)));
        }
        if fields.is_empty() && keyword == "struct" {
            self.text
                .line("/// Nothing: a struct of IDL has at least one member.");
            self.text.line("octet nothing;");
        }
        self.text.close("};");
    }

    /// The sequence of at most one value that IDL 2 has for one that may be unset.
    pub(super) fn optional(&mut self, id: DefinitionId, of: Type, made: Made) {
        let name = written(self.naming.made(id, made));
        let element = self.r#type(of);
        self.text.blank();
        self.text.line("/// Empty if the value is not set.");
        self.text.line(&format!(
            "typedef sequence<{}, 1> {name};",
            spaced(&element)
        ));
    }

    pub(super) fn sequence(&mut self, id: DefinitionId, of: &Sequence) {
        let line = format!(
            "typedef sequence<{}> {};",
            spaced(&self.r#type(of.element)),
            self.name(id)
        );
        self.begin(id);
        self.text.line(&line);
    }

    pub(super) fn dictionary(&mut self, id: DefinitionId, of: &Dictionary) {
        let entry = self.naming.made(id, Made::Entry).to_owned();
        let field = |name, r#type| Field {
            name,
            doc: None,
            r#type,
            optional: None,
        };
        let path = self.made_path(id, Made::Entry);
        let line = format!("typedef sequence<{}> {};", spaced(&path), self.name(id));
        self.text.blank();
        self.fields(
            "struct",
            &entry,
            &[field("key", of.key), field("value", of.value)],
        );
        self.begin(id);
        self.text.line(&line);
    }

    /// A blank line, and the comment of a definition.
    pub(super) fn begin(&mut self, id: DefinitionId) {
        self.text.blank();
        self.text.doc(self.model.definition(id).doc.as_deref());
    }
}

/// A type behind `<`: `<:` would be a bracket to a preprocessor of C.
fn spaced(r#type: &str) -> String {
    match r#type.starts_with(':') {
        true => format!(" {}", r#type),
        false => r#type.to_owned(),
    }
}

/// A number. The least of a type is a product: omniidl takes it for too large both as a literal and as a difference.
fn integer(value: i64) -> String {
    let is_least = value == i64::MIN || value == i64::from(i32::MIN);
    match is_least {
        true => format!("{} * 2", value / 2),
        false => value.to_string(),
    }
}

/// A string literal in printable ASCII: all else is written as the bytes of its UTF-8.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                literal.push('\\');
                literal.push(char::from(byte));
            }
            // Two of them side by side begin a trigraph.
            b'?' => literal.push_str("\\?"),
            b' '..=b'~' => literal.push(char::from(byte)),
            // Three octal digits end where they must, whatever follows.
            _ => literal.push_str(&format!("\\{byte:03o}")),
        }
    }
    literal.push('"');
    literal
}

/// The longest line of an enumeration.
const LINE_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_plain_ascii_and_end_where_they_should() {
        assert_eq!(string("h\u{e9}1\n\"\\??/"), r#""h\303\2511\012\"\\\?\?/""#);
    }

    #[test]
    fn the_least_number_of_a_type_is_a_product() {
        assert_eq!(integer(i64::MIN), "-4611686018427387904 * 2");
        assert_eq!(integer(-2_147_483_648), "-1073741824 * 2");
        assert_eq!(integer(-2_147_483_647), "-2147483647");
    }
}
