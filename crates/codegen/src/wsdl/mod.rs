//! A contract as WSDL 1.1 with XML schema types: document/literal wrapped, with bindings to SOAP 1.1 and 1.2.
//!
//! ```text
//! mod.rs         namespaces, and the parts of the document in order
//! schema.rs      types, wrapper elements, and elements of events
//! service.rs     messages, port types, bindings, services
//! notification.rs   the document of a broker of events, and the schemas of its messages (notification.xml)
//! xml.rs         elements, attributes, escapes
//! ```
//!
//! Names and the form of events come from `foreign/`. A module is a namespace, and so is an interface: it has the
//! elements of its operations, of which two interfaces may have some of one name.
//!
//! Source: WSDL 1.1; WSDL 1.1 Binding Extension for SOAP 1.2; XML Schema 1.0; WS-I Basic Profile 1.1.

mod notification;
mod schema;
mod service;
mod xml;

use std::collections::BTreeMap;

use floe_slice::Model;
use floe_slice::diagnostic::Diagnostic;
use floe_slice::model::{DefinitionId, DefinitionKind, Primitive, Type};

use crate::foreign::{Content, Naming, Target, World, content, namespace};
use xml::XmlText;

pub use notification::generate_notification_wsdl;

/// How a contract becomes WSDL.
#[derive(Debug, Clone)]
pub struct WsdlOptions {
    namespace: String,
    address: Option<String>,
}

impl Default for WsdlOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl WsdlOptions {
    /// Namespaces that begin with `urn:floe:slice`, and no service: only the bindings.
    pub fn new() -> Self {
        Self {
            namespace: "urn:floe:slice".to_owned(),
            address: None,
        }
    }

    /// The beginning of all namespaces: module `::Demo::Inner` is `NAMESPACE:Demo:Inner`.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Adds a service for each interface, at this URL.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }
}

/// The main files of a model, and what they use, as one WSDL document. Constants are left out: XML has no place for
/// them.
///
/// ```
/// let contract = b"module Demo { interface Greeter { string greet(string name); } }";
/// let compilation = floe_slice::check_source(contract);
/// let options = floe_codegen::WsdlOptions::new().address("http://localhost:8080");
/// let wsdl = floe_codegen::generate_wsdl(&compilation.model, &options).unwrap();
/// assert!(wsdl.contains("<xs:element name=\"greet\">"));
/// assert!(wsdl.contains("<wsdl:portType name=\"Demo.Greeter\">"));
/// ```
///
/// # Errors
/// An error for each class: a schema could hold it, but nothing that a graph of instances needs.
pub fn generate_wsdl(model: &Model, options: &WsdlOptions) -> Result<String, Vec<Diagnostic>> {
    let Content { definitions, .. } = content(model, Target::Wsdl)?;
    let naming = Naming::new(model, World::Xml);
    let namespaces = Namespaces::new(model, &naming, &definitions, &options.namespace);
    let document = Document {
        model,
        options,
        naming,
        definitions,
        namespaces,
    };
    let mut text = XmlText::new();
    document.write(&mut text);
    Ok(text.finish())
}

struct Document<'m> {
    model: &'m Model,
    options: &'m WsdlOptions,
    naming: Naming<'m>,
    /// The definitions that are written, in order.
    definitions: Vec<DefinitionId>,
    namespaces: Namespaces,
}

impl Document<'_> {
    fn write(&self, text: &mut XmlText) {
        let mut attributes = vec![
            ("name".to_owned(), self.name()),
            ("targetNamespace".to_owned(), self.options.namespace.clone()),
            ("xmlns:tns".to_owned(), self.options.namespace.clone()),
            ("xmlns:wsdl".to_owned(), WSDL.to_owned()),
            ("xmlns:soap".to_owned(), SOAP11.to_owned()),
            ("xmlns:soap12".to_owned(), SOAP12.to_owned()),
            ("xmlns:xs".to_owned(), SCHEMA.to_owned()),
        ];
        for (index, namespace) in self.namespaces.uris.iter().enumerate() {
            attributes.push((format!("xmlns:{}", prefix(index)), namespace.clone()));
        }
        text.open_with("wsdl:definitions", &attributes);
        self.types(text);
        self.messages(text);
        self.port_types(text);
        self.bindings(text);
        self.services(text);
        text.close();
    }

    /// The outermost modules of the main files, joined.
    fn name(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for id in &self.definitions {
            let definition = self.model.definition(*id);
            let is_main = self.model.files[definition.file.0].is_main;
            let name = self.naming.module(&definition.modules[..1]);
            if is_main && !names.contains(&name) {
                names.push(name);
            }
        }
        match names.is_empty() {
            true => "empty".to_owned(),
            false => names.join("."),
        }
    }

    /// The interfaces that have operations.
    fn interfaces(&self) -> impl Iterator<Item = DefinitionId> {
        let model = self.model;
        let ids = self.definitions.iter().copied();
        ids.filter(move |id| has_operations(model, *id))
    }

    /// A name of the document itself, of which every definition has one: `Demo.Greeter`.
    fn dotted(&self, id: DefinitionId) -> String {
        let mut names = self.naming.modules_of(id);
        names.push(self.naming.definition(id));
        names.join(".")
    }

    /// A name of the module of a definition, with its prefix.
    fn in_module_of(&self, id: DefinitionId, name: &str) -> String {
        let prefix = self.namespaces.module(self.model, id);
        format!("{prefix}:{name}")
    }

    /// The type of a member or element.
    fn r#type(&self, r#type: Type) -> String {
        match r#type {
            Type::Primitive(primitive) => keyword(primitive).to_owned(),
            Type::Named(id) => self.in_module_of(id, self.naming.definition(id)),
            // A proxy is its text; the empty one is nil.
            _ => "xs:string".to_owned(),
        }
    }
}

fn has_operations(model: &Model, id: DefinitionId) -> bool {
    let is_interface = matches!(model.definition(id).kind, DefinitionKind::Interface(_));
    is_interface && !model.all_operations(id).is_empty()
}

fn keyword(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "xs:boolean",
        Primitive::Byte => "xs:unsignedByte",
        Primitive::Short => "xs:short",
        Primitive::Int => "xs:int",
        Primitive::Long => "xs:long",
        Primitive::Float => "xs:float",
        Primitive::Double => "xs:double",
        Primitive::String => "xs:string",
    }
}

/// The namespaces of a document, each with a prefix by its place.
struct Namespaces {
    uris: Vec<String>,
    /// Places in `uris`.
    modules: BTreeMap<Vec<String>, usize>,
    interfaces: BTreeMap<DefinitionId, usize>,
}

impl Namespaces {
    fn new(model: &Model, naming: &Naming<'_>, definitions: &[DefinitionId], base: &str) -> Self {
        let mut namespaces = Self {
            uris: Vec::new(),
            modules: BTreeMap::new(),
            interfaces: BTreeMap::new(),
        };
        for id in definitions {
            let modules = &model.definition(*id).modules;
            let uri = namespace(naming, base, *id);
            if !namespaces.modules.contains_key(modules) {
                namespaces
                    .modules
                    .insert(modules.clone(), namespaces.uris.len());
                namespaces.uris.push(uri.clone());
            }
            if has_operations(model, *id) {
                namespaces.interfaces.insert(*id, namespaces.uris.len());
                namespaces
                    .uris
                    .push(format!("{uri}:{}", naming.definition(*id)));
            }
        }
        namespaces
    }

    /// Leaves out those of interfaces, whose operations are not called.
    fn without_interfaces(&mut self) {
        let kept: Vec<usize> = self.modules.values().copied().collect();
        let place = |index: usize| kept.iter().filter(|it| **it < index).count();
        for index in self.modules.values_mut() {
            *index = place(*index);
        }
        let mut index = 0;
        self.uris.retain(|_| {
            index += 1;
            kept.contains(&(index - 1))
        });
        self.interfaces.clear();
    }

    /// The prefix of the module that a definition is in.
    fn module(&self, model: &Model, id: DefinitionId) -> String {
        prefix(self.modules[&model.definition(id).modules])
    }
}

fn prefix(index: usize) -> String {
    format!("ns{}", index + 1)
}

const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
const SOAP11: &str = "http://schemas.xmlsoap.org/wsdl/soap/";
const SOAP12: &str = "http://schemas.xmlsoap.org/wsdl/soap12/";
const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema";
/// The transport of both bindings.
const HTTP: &str = "http://schemas.xmlsoap.org/soap/http";
