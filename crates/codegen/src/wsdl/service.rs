//! Messages, port types, bindings and services of an interface. WSDL 1.1 has no inheritance: a port type has the
//! inherited operations, too, with the messages of the interface that declares them.

use std::collections::BTreeSet;

use floe_slice::model::{DefinitionId, Operation};

use super::schema::Wrappers;
use super::xml::XmlText;
use super::{Document, HTTP};
use crate::foreign::throws;

impl<'m> Document<'m> {
    pub(super) fn messages(&self, text: &mut XmlText) {
        for id in self.interfaces() {
            let (prefix, _) = self.interface_namespace(id);
            for wrappers in self.wrappers(id) {
                for element in [&wrappers.request, &wrappers.response] {
                    let name = format!("{}.{element}", self.dotted(id));
                    message(text, &name, "parameters", &format!("{prefix}:{element}"));
                }
            }
        }
        for id in self.thrown() {
            let element = self.in_module_of(id, self.naming.definition(id));
            message(text, &self.dotted(id), "fault", &element);
        }
    }

    /// All exceptions of operations, each once.
    fn thrown(&self) -> BTreeSet<DefinitionId> {
        let operations = self
            .interfaces()
            .flat_map(|id| self.model.own_operations(id));
        operations.flat_map(|it| throws(self.model, it)).collect()
    }

    pub(super) fn port_types(&self, text: &mut XmlText) {
        for id in self.interfaces() {
            text.open("wsdl:portType", &[("name", &self.dotted(id))]);
            documentation(text, self.model.definition(id).doc.as_deref());
            for (owner, operation, wrappers) in self.operations(id) {
                text.open("wsdl:operation", &[("name", &wrappers.request)]);
                documentation(text, operation.doc.as_deref());
                let message = |element| format!("tns:{}.{element}", self.dotted(owner));
                text.leaf("wsdl:input", &[("message", &message(&wrappers.request))]);
                text.leaf("wsdl:output", &[("message", &message(&wrappers.response))]);
                for exception in throws(self.model, operation) {
                    let name = self.dotted(exception);
                    let message = format!("tns:{name}");
                    text.leaf("wsdl:fault", &[("name", &name), ("message", &message)]);
                }
                text.close();
            }
            text.close();
        }
    }

    pub(super) fn bindings(&self, text: &mut XmlText) {
        for id in self.interfaces() {
            for (soap, version) in VERSIONS {
                self.binding(text, id, soap, version);
            }
        }
    }

    fn binding(&self, text: &mut XmlText, id: DefinitionId, soap: &str, version: &str) {
        let name = format!("{}.{version}", self.dotted(id));
        let port_type = format!("tns:{}", self.dotted(id));
        text.open("wsdl:binding", &[("name", &name), ("type", &port_type)]);
        let style = [("style", "document"), ("transport", HTTP)];
        text.leaf(&format!("{soap}:binding"), &style);
        let body = format!("{soap}:body");
        for (owner, operation, wrappers) in self.operations(id) {
            let (_, namespace) = self.interface_namespace(owner);
            let action = format!("{namespace}/{}", wrappers.request);
            text.open("wsdl:operation", &[("name", &wrappers.request)]);
            text.leaf(&format!("{soap}:operation"), &[("soapAction", &action)]);
            for direction in ["wsdl:input", "wsdl:output"] {
                text.open(direction, &[]);
                text.leaf(&body, &[("use", "literal")]);
                text.close();
            }
            for exception in throws(self.model, operation) {
                let name = self.dotted(exception);
                text.open("wsdl:fault", &[("name", &name)]);
                text.leaf(
                    &format!("{soap}:fault"),
                    &[("name", &name), ("use", "literal")],
                );
                text.close();
            }
            text.close();
        }
        text.close();
    }

    pub(super) fn services(&self, text: &mut XmlText) {
        let Some(address) = &self.options.address else {
            return;
        };
        for id in self.interfaces() {
            let name = self.dotted(id);
            text.open("wsdl:service", &[("name", &name)]);
            for (soap, version) in VERSIONS {
                let binding = format!("tns:{name}.{version}");
                text.open("wsdl:port", &[("name", version), ("binding", &binding)]);
                text.leaf(&format!("{soap}:address"), &[("location", address)]);
                text.close();
            }
            text.close();
        }
    }

    /// All operations of an interface, with the interface that declares each.
    fn operations(&self, id: DefinitionId) -> Vec<(DefinitionId, &'m Operation, Wrappers)> {
        let model = self.model;
        let interfaces = model.linearized(id).into_iter();
        let operations = interfaces.flat_map(|owner| {
            let operations = model.own_operations(owner).iter();
            let pairs = operations.zip(self.wrappers(owner));
            pairs
                .map(move |(operation, wrappers)| (owner, operation, wrappers))
                .collect::<Vec<_>>()
        });
        operations.collect()
    }
}

fn message(text: &mut XmlText, name: &str, part: &str, element: &str) {
    text.open("wsdl:message", &[("name", name)]);
    text.leaf("wsdl:part", &[("name", part), ("element", element)]);
    text.close();
}

fn documentation(text: &mut XmlText, doc: Option<&str>) {
    if let Some(doc) = doc {
        text.text("wsdl:documentation", doc.trim());
    }
}

/// The prefix of each version of SOAP, and the name of its binding and port.
pub(super) const VERSIONS: [(&str, &str); 2] = [("soap", "Soap11"), ("soap12", "Soap12")];
