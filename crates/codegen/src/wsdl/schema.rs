//! The types of a contract as XML schemas, one for each namespace.

use floe_slice::model::{
    DefinitionId, DefinitionKind, Dictionary, Enum, Member, Model, Operation, Primitive, Sequence,
    Type,
};

use super::xml::XmlText;
use super::{Document, prefix};
use crate::foreign::{EventType, Made, NameScope, Payload, World, event_type, payload};

/// An element within a type.
struct Part<'m> {
    name: &'m str,
    doc: Option<&'m str>,
    r#type: Type,
    is_optional: bool,
}

impl<'m> Part<'m> {
    fn of(member: &'m Member) -> Self {
        Self {
            name: &member.name,
            doc: member.doc.as_deref(),
            r#type: member.r#type,
            is_optional: member.tag.is_some(),
        }
    }

    fn plain(name: &'m str, r#type: Type) -> Self {
        Self {
            name,
            doc: None,
            r#type,
            is_optional: false,
        }
    }
}

/// The names of the wrapper elements of an operation.
pub(super) struct Wrappers {
    pub(super) request: String,
    pub(super) response: String,
}

impl Document<'_> {
    pub(super) fn types(&self, text: &mut XmlText) {
        text.open("wsdl:types", &[]);
        self.module_schemas(text);
        for (id, index) in &self.namespaces.interfaces {
            self.open_schema(text, *index);
            let operations = self.model.own_operations(*id).iter();
            for (operation, wrappers) in operations.zip(self.wrappers(*id)) {
                self.wrapper_elements(text, operation, &wrappers);
            }
            text.close();
        }
        text.close();
    }

    /// A schema for each module.
    pub(super) fn module_schemas(&self, text: &mut XmlText) {
        for (modules, index) in &self.namespaces.modules {
            self.open_schema(text, *index);
            for id in &self.definitions {
                if self.model.definition(*id).modules == *modules {
                    self.definition(text, *id);
                }
            }
            text.close();
        }
    }

    /// Opens a schema that sees all the others.
    fn open_schema(&self, text: &mut XmlText, index: usize) {
        let uris = &self.namespaces.uris;
        let namespace = ("targetNamespace", uris[index].as_str());
        text.open(
            "xs:schema",
            &[namespace, ("elementFormDefault", "qualified")],
        );
        for (other, uri) in uris.iter().enumerate() {
            let is_module = self.namespaces.modules.values().any(|it| *it == other);
            if other != index && is_module {
                text.leaf("xs:import", &[("namespace", uri)]);
            }
        }
    }

    fn definition(&self, text: &mut XmlText, id: DefinitionId) {
        let definition = self.model.definition(id);
        let name = self.naming.definition(id);
        let doc = definition.doc.as_deref();
        match &definition.kind {
            DefinitionKind::Enum(of) => enumeration(text, name, doc, of),
            DefinitionKind::Struct(of) => {
                let parts: Vec<Part> = of.members.iter().map(Part::of).collect();
                self.complex_type(text, name, doc, &parts);
            }
            DefinitionKind::Sequence(of) => self.sequence(text, name, doc, of),
            DefinitionKind::Dictionary(of) => self.dictionary(text, id, doc, of),
            DefinitionKind::Exception(_) => {
                let parts: Vec<Part> = exception_members(self.model, id).map(Part::of).collect();
                self.complex_type(text, name, doc, &parts);
                let r#type = self.in_module_of(id, name);
                text.leaf("xs:element", &[("name", name), ("type", &r#type)]);
            }
            DefinitionKind::Interface(_) => self.events(text, id),
            _ => {}
        }
    }

    fn complex_type(&self, text: &mut XmlText, name: &str, doc: Option<&str>, parts: &[Part<'_>]) {
        text.open("xs:complexType", &[("name", name)]);
        documentation(text, doc);
        self.parts(text, name, parts);
        text.close();
    }

    /// The content of a type: these elements in this order.
    fn parts(&self, text: &mut XmlText, owner: &str, parts: &[Part<'_>]) {
        let names = self.naming.members(owner, parts.iter().map(|it| it.name));
        if parts.is_empty() {
            return text.leaf("xs:sequence", &[]);
        }
        text.open("xs:sequence", &[]);
        for (part, name) in parts.iter().zip(names) {
            let r#type = self.r#type(part.r#type);
            let mut attributes = vec![("name", name.as_str()), ("type", &r#type)];
            if part.is_optional {
                attributes.push(("minOccurs", "0"));
            }
            element(text, &attributes, part.doc);
        }
        text.close();
    }

    fn sequence(&self, text: &mut XmlText, name: &str, doc: Option<&str>, of: &Sequence) {
        if of.element == Type::Primitive(Primitive::Byte) {
            text.open("xs:simpleType", &[("name", name)]);
            documentation(text, doc);
            text.leaf("xs:restriction", &[("base", "xs:base64Binary")]);
            return text.close();
        }
        let element = self.r#type(of.element);
        repeated(text, name, doc, "item", &element);
    }

    fn dictionary(&self, text: &mut XmlText, id: DefinitionId, doc: Option<&str>, of: &Dictionary) {
        let entry = self.naming.made(id, Made::Entry);
        let parts = [Part::plain("key", of.key), Part::plain("value", of.value)];
        self.complex_type(text, entry, None, &parts);
        let element = self.in_module_of(id, entry);
        repeated(text, self.naming.definition(id), doc, "entry", &element);
    }

    /// The one type and the element of the events of an interface; none if one of its operations answers.
    fn events(&self, text: &mut XmlText, id: DefinitionId) {
        let Ok(Some(event)) = event_type(self.model, id) else {
            return;
        };
        for operation in self.model.own_operations(id) {
            if payload(self.model, operation) == Payload::Parameters {
                let made = Made::Parameters(operation.name.clone());
                let doc = operation.doc.as_deref();
                self.complex_type(text, self.naming.made(id, made), doc, &inputs(operation));
            }
        }
        let name = self.naming.made(id, Made::Event);
        let doc = self.model.definition(id).doc.as_deref();
        let carried = |of: &crate::foreign::EventOperation<'_>| match of.payload {
            Payload::Struct(id) => self.in_module_of(id, self.naming.definition(id)),
            Payload::Parameters => {
                let made = Made::Parameters(of.operation.name.clone());
                self.in_module_of(of.interface, self.naming.made(of.interface, made))
            }
        };
        let r#type = match &event {
            EventType::One(of) => carried(of),
            EventType::Choice(operations) => {
                text.open("xs:complexType", &[("name", name)]);
                text.open("xs:choice", &[]);
                let names = operations.iter().map(|it| it.operation.name.as_str());
                for (of, name) in operations.iter().zip(self.naming.members(name, names)) {
                    let attributes = [("name", name.as_str()), ("type", &carried(of))];
                    text.leaf("xs:element", &attributes);
                }
                text.close();
                text.close();
                self.in_module_of(id, name)
            }
        };
        element(text, &[("name", name), ("type", &r#type)], doc);
    }

    /// The wrapper elements of the operations that an interface declares itself, in order.
    pub(super) fn wrappers(&self, id: DefinitionId) -> Vec<Wrappers> {
        let operations = self.model.own_operations(id);
        let mut scope = NameScope::new(World::Xml);
        let requests: Vec<String> = operations.iter().map(|it| scope.add(&it.name)).collect();
        let responses = operations.iter().map(|it| format!("{}Response", it.name));
        let responses = responses.map(|it| scope.add(&it));
        let pairs = requests.into_iter().zip(responses);
        pairs
            .map(|(request, response)| Wrappers { request, response })
            .collect()
    }

    fn wrapper_elements(&self, text: &mut XmlText, operation: &Operation, names: &Wrappers) {
        self.wrapper(
            text,
            &names.request,
            operation.doc.as_deref(),
            &inputs(operation),
        );
        let returned = operation.returns.iter().map(|it| Part {
            name: "returnValue",
            doc: None,
            r#type: it.r#type,
            is_optional: it.tag.is_some(),
        });
        let outputs = operation.outputs().map(|it| Part {
            name: &it.name,
            doc: it.doc.as_deref(),
            r#type: it.r#type,
            is_optional: it.tag.is_some(),
        });
        let outputs: Vec<Part> = returned.chain(outputs).collect();
        self.wrapper(text, &names.response, None, &outputs);
    }

    fn wrapper(&self, text: &mut XmlText, name: &str, doc: Option<&str>, parts: &[Part<'_>]) {
        text.open("xs:element", &[("name", name)]);
        documentation(text, doc);
        text.open("xs:complexType", &[]);
        self.parts(text, name, parts);
        text.close();
        text.close();
    }

    /// The prefix of the namespace of an interface, and its URI.
    pub(super) fn interface_namespace(&self, id: DefinitionId) -> (String, &str) {
        let index = self.namespaces.interfaces[&id];
        (prefix(index), &self.namespaces.uris[index])
    }
}

fn inputs(operation: &Operation) -> Vec<Part<'_>> {
    let inputs = operation.inputs();
    inputs
        .map(|it| Part {
            name: &it.name,
            doc: it.doc.as_deref(),
            r#type: it.r#type,
            is_optional: it.tag.is_some(),
        })
        .collect()
}

/// All members of an exception, those of the outermost base first.
fn exception_members(model: &Model, id: DefinitionId) -> impl Iterator<Item = &Member> {
    let chain = model.exception_chain(id).into_iter().rev();
    chain.flat_map(|owner| match &model.definition(owner).kind {
        DefinitionKind::Exception(of) => of.members.as_slice(),
        _ => &[],
    })
}

/// The names of enumerators as Slice has them: they are values, and no names of XML.
fn enumeration(text: &mut XmlText, name: &str, doc: Option<&str>, of: &Enum) {
    text.open("xs:simpleType", &[("name", name)]);
    documentation(text, doc);
    text.open("xs:restriction", &[("base", "xs:string")]);
    for enumerator in &of.enumerators {
        let attributes = [("value", enumerator.name.as_str())];
        match &enumerator.doc {
            None => text.leaf("xs:enumeration", &attributes),
            Some(_) => {
                text.open("xs:enumeration", &attributes);
                documentation(text, enumerator.doc.as_deref());
                text.close();
            }
        }
    }
    text.close();
    text.close();
}

/// A type that holds an element any number of times.
fn repeated(text: &mut XmlText, name: &str, doc: Option<&str>, element: &str, r#type: &str) {
    text.open("xs:complexType", &[("name", name)]);
    documentation(text, doc);
    text.open("xs:sequence", &[]);
    let attributes = [
        ("name", element),
        ("type", r#type),
        ("minOccurs", "0"),
        ("maxOccurs", "unbounded"),
    ];
    text.leaf("xs:element", &attributes);
    text.close();
    text.close();
}

fn element(text: &mut XmlText, attributes: &[(&str, &str)], doc: Option<&str>) {
    match doc {
        None => text.leaf("xs:element", attributes),
        Some(_) => {
            text.open("xs:element", attributes);
            documentation(text, doc);
            text.close();
        }
    }
}

fn documentation(text: &mut XmlText, doc: Option<&str>) {
    if let Some(doc) = doc {
        text.open("xs:annotation", &[]);
        text.text("xs:documentation", doc.trim());
        text.close();
    }
}
