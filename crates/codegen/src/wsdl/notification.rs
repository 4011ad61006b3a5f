//! WSDL of a broker of WS-Notification that carries the events of some interfaces.
//!
//! The port types are those of the standard, so that its clients fit. The schema of its messages, `notification.xml`, was
//! written for this from the documents, and is narrower in one place: a message holds one of the events, by its name, so that
//! programs get types of them where the standard has anything.
//!
//! Source: OASIS Web Services Base Notification 1.3; Web Services Addressing 1.0; ONVIF Core Specification, 9.

use floe_slice::Model;
use floe_slice::diagnostic::Diagnostic;
use floe_slice::model::DefinitionId;

use super::service::VERSIONS;
use super::xml::XmlText;
use super::{Document, HTTP, Namespaces, SCHEMA, SOAP11, SOAP12, WSDL, WsdlOptions, prefix};
use crate::foreign::{Made, Naming, Target, World, content_of, event_type};

/// One WSDL document for a broker of the events of these interfaces.
///
/// ```
/// let contract = b"module Demo { struct Tick { int price; } interface Ticker { void tick(Tick tick); } }";
/// let compilation = floe_slice::check_source(contract);
/// let ticker = compilation.model.find("::Demo::Ticker").unwrap();
/// let options = floe_codegen::WsdlOptions::new().address("http://localhost:8070");
/// let wsdl = floe_codegen::generate_notification_wsdl(&compilation.model, &[ticker], &options).unwrap();
/// assert!(wsdl.contains("<xs:element ref=\"ns1:Ticker_Event\"/>"));
/// assert!(wsdl.contains("<wsdl:portType name=\"NotificationBroker\">"));
/// ```
///
/// # Errors
/// An error for each class that the interfaces use.
pub fn generate_notification_wsdl(
    model: &Model,
    interfaces: &[DefinitionId],
    options: &WsdlOptions,
) -> Result<String, Vec<Diagnostic>> {
    let definitions = content_of(model, interfaces, Target::Wsdl)?;
    let naming = Naming::new(model, World::Xml);
    let mut namespaces = Namespaces::new(model, &naming, &definitions, &options.namespace);
    namespaces.without_interfaces();
    let document = Document {
        model,
        options,
        naming,
        definitions,
        namespaces,
    };
    let mut text = XmlText::new();
    document.write_notification(&mut text, interfaces);
    Ok(text.finish())
}

/// A port type of the broker.
struct PortType {
    name: &'static str,
    operations: &'static [Operation],
}

/// An operation: its element is `PREFIX:NAME`, that of its answer `PREFIX:NAMEResponse`.
struct Operation {
    prefix: &'static str,
    name: &'static str,
    action: &'static str,
    answers: bool,
}

const NOTIFY: Operation = Operation {
    prefix: "wsnt",
    name: "Notify",
    action: "http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer/Notify",
    answers: false,
};

const PORT_TYPES: [PortType; 4] = [
    PortType {
        name: "NotificationBroker",
        operations: &[
            NOTIFY,
            Operation {
                prefix: "wsnt",
                name: "Subscribe",
                action: "http://docs.oasis-open.org/wsn/bw-2/NotificationProducer/SubscribeRequest",
                answers: true,
            },
            Operation {
                prefix: "wsnt",
                name: "CreatePullPoint",
                action: "http://docs.oasis-open.org/wsn/bw-2/CreatePullPoint/CreatePullPointRequest",
                answers: true,
            },
            Operation {
                prefix: "tev",
                name: "CreatePullPointSubscription",
                action: "http://www.onvif.org/ver10/events/wsdl/EventPortType/CreatePullPointSubscriptionRequest",
                answers: true,
            },
        ],
    },
    PortType {
        name: "PullPoint",
        operations: &[
            Operation {
                prefix: "wsnt",
                name: "GetMessages",
                action: "http://docs.oasis-open.org/wsn/bw-2/PullPoint/GetMessagesRequest",
                answers: true,
            },
            Operation {
                prefix: "tev",
                name: "PullMessages",
                action: "http://www.onvif.org/ver10/events/wsdl/PullPointSubscription/PullMessagesRequest",
                answers: true,
            },
            Operation {
                prefix: "wsnt",
                name: "DestroyPullPoint",
                action: "http://docs.oasis-open.org/wsn/bw-2/PullPoint/DestroyPullPointRequest",
                answers: true,
            },
        ],
    },
    PortType {
        name: "SubscriptionManager",
        operations: &[
            Operation {
                prefix: "wsnt",
                name: "Renew",
                action: "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/RenewRequest",
                answers: true,
            },
            Operation {
                prefix: "wsnt",
                name: "Unsubscribe",
                action: "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/UnsubscribeRequest",
                answers: true,
            },
        ],
    },
    PortType {
        name: "NotificationConsumer",
        operations: &[NOTIFY],
    },
];

impl Document<'_> {
    fn write_notification(&self, text: &mut XmlText, interfaces: &[DefinitionId]) {
        let namespaces = [
            ("xmlns:tns", self.options.namespace.as_str()),
            ("xmlns:wsdl", WSDL),
            ("xmlns:soap", SOAP11),
            ("xmlns:soap12", SOAP12),
            ("xmlns:xs", SCHEMA),
            ("xmlns:wsnt", "http://docs.oasis-open.org/wsn/b-2"),
            ("xmlns:tev", "http://www.onvif.org/ver10/events/wsdl"),
        ];
        let mut attributes = vec![
            ("name".to_owned(), "Notification".to_owned()),
            ("targetNamespace".to_owned(), self.options.namespace.clone()),
        ];
        attributes.extend(namespaces.map(|(name, uri)| (name.to_owned(), uri.to_owned())));
        for (index, namespace) in self.namespaces.uris.iter().enumerate() {
            attributes.push((format!("xmlns:{}", prefix(index)), namespace.clone()));
        }
        text.open_with("wsdl:definitions", &attributes);
        text.open("wsdl:types", &[]);
        self.module_schemas(text);
        text.raw(&self.notification_schemas(interfaces));
        text.close();
        notification_messages(text);
        notification_port_types(text);
        notification_bindings(text);
        if let Some(address) = &self.options.address {
            notification_service(text, address);
        }
        text.close();
    }

    /// The schemas of the standard, with the events.
    fn notification_schemas(&self, interfaces: &[DefinitionId]) -> String {
        let mut imports = XmlText::within(3);
        for uri in &self.namespaces.uris {
            imports.leaf("xs:import", &[("namespace", uri)]);
        }
        let mut events = XmlText::within(5);
        let mut seen = Vec::new();
        for id in interfaces {
            let is_event = matches!(event_type(self.model, *id), Ok(Some(_)));
            if is_event && !seen.contains(id) {
                seen.push(*id);
                let element = self.in_module_of(*id, self.naming.made(*id, Made::Event));
                events.leaf("xs:element", &[("ref", &element)]);
            }
        }
        let schemas = include_str!("notification.xml");
        let schemas = schemas.replace("@IMPORTS@", &imports.finish());
        schemas.replace("@EVENTS@", &events.finish())
    }
}

fn notification_messages(text: &mut XmlText) {
    let mut seen = Vec::new();
    for operation in PORT_TYPES.iter().flat_map(|it| it.operations) {
        for name in operation.messages() {
            if !seen.contains(&name) {
                let element = format!("{}:{name}", operation.prefix);
                text.open("wsdl:message", &[("name", &name)]);
                text.leaf(
                    "wsdl:part",
                    &[("name", "parameters"), ("element", &element)],
                );
                text.close();
                seen.push(name);
            }
        }
    }
}

fn notification_port_types(text: &mut XmlText) {
    for port_type in &PORT_TYPES {
        text.open("wsdl:portType", &[("name", port_type.name)]);
        for operation in port_type.operations {
            text.open("wsdl:operation", &[("name", operation.name)]);
            let directions = ["wsdl:input", "wsdl:output"];
            for (direction, name) in directions.into_iter().zip(operation.messages()) {
                text.leaf(direction, &[("message", &format!("tns:{name}"))]);
            }
            text.close();
        }
        text.close();
    }
}

fn notification_bindings(text: &mut XmlText) {
    for port_type in &PORT_TYPES {
        for (soap, version) in VERSIONS {
            let name = format!("{}{version}", port_type.name);
            let r#type = format!("tns:{}", port_type.name);
            text.open("wsdl:binding", &[("name", &name), ("type", &r#type)]);
            let style = [("style", "document"), ("transport", HTTP)];
            text.leaf(&format!("{soap}:binding"), &style);
            for operation in port_type.operations {
                text.open("wsdl:operation", &[("name", operation.name)]);
                text.leaf(
                    &format!("{soap}:operation"),
                    &[("soapAction", operation.action)],
                );
                let directions = ["wsdl:input", "wsdl:output"];
                for (direction, _) in directions.into_iter().zip(operation.messages()) {
                    text.open(direction, &[]);
                    text.leaf(&format!("{soap}:body"), &[("use", "literal")]);
                    text.close();
                }
                text.close();
            }
            text.close();
        }
    }
}

/// One service for all: pull points and subscriptions are at the URLs that they got when they were made.
fn notification_service(text: &mut XmlText, address: &str) {
    text.open("wsdl:service", &[("name", "Notification")]);
    for port_type in &PORT_TYPES {
        for (soap, version) in VERSIONS {
            let name = format!("{}{version}", port_type.name);
            text.open(
                "wsdl:port",
                &[("name", &name), ("binding", &format!("tns:{name}"))],
            );
            let location = format!("{address}/");
            text.leaf(&format!("{soap}:address"), &[("location", &location)]);
            text.close();
        }
    }
    text.close();
}

impl Operation {
    /// The names of its messages and of their elements.
    fn messages(&self) -> Vec<String> {
        match self.answers {
            true => vec![self.name.to_owned(), format!("{}Response", self.name)],
            false => vec![self.name.to_owned()],
        }
    }
}
