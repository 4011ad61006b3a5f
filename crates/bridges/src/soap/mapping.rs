//! The names of a topic's events in XML, as the generator of WSDL writes them, and whether a topic can be said.

use std::collections::HashMap;

use floe_codegen::foreign::{Made, Naming, World, namespace};
use floe_dynamic::{Layout, Record, Shape};
use floe_slice::Model;
use floe_slice::model::{DefinitionId, Primitive};

use super::codec::text::is_character;
use crate::core::mapping::{EventTypes, Finding, Payload, Verdict};
use crate::hub::TopicPlan;

/// The elements of the events of one topic.
#[derive(Debug)]
pub struct Names {
    /// Namespaces; the prefix of the first is `ns1`.
    namespaces: Vec<String>,
    /// The element of an event: `Ticker_Event`.
    event: Name,
    /// By kind of event.
    kinds: Vec<KindNames>,
    /// By the type id of a struct.
    records: HashMap<String, Vec<Name>>,
    /// By the type id of a sequence.
    items: HashMap<String, Name>,
    /// By the type id of a dictionary.
    entries: HashMap<String, EntryNames>,
}

/// The name of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The place of its namespace.
    namespace: usize,
    local: String,
    /// With its prefix: `ns1:price`.
    qualified: String,
}

/// The names of one kind of event.
#[derive(Debug)]
pub(super) struct KindNames {
    /// The element within that of the event, if there are several kinds.
    pub(super) choice: Option<Name>,
    /// The elements of the parameters; `None` if the only one is a struct, which is the event itself.
    pub(super) parameters: Option<Vec<Name>>,
}

/// The names of a dictionary.
#[derive(Debug)]
pub(super) struct EntryNames {
    pub(super) entry: Name,
    pub(super) key: Name,
    pub(super) value: Name,
}

impl Name {
    /// Its namespace.
    pub fn namespace<'n>(&self, names: &'n Names) -> &'n str {
        &names.namespaces[self.namespace]
    }

    /// Its name within the namespace.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// Its name with the prefix that the event declares.
    pub(super) fn qualified(&self) -> &str {
        &self.qualified
    }
}

impl Names {
    /// The names of all events of a topic, in namespaces that begin with `base`.
    pub fn new(events: &EventTypes, base: &str) -> Self {
        let model = events.contract().model();
        let naming = Naming::new(model, World::Xml);
        let mut namer = Namer {
            model,
            base,
            namespaces: Vec::new(),
            records: HashMap::new(),
            items: HashMap::new(),
            entries: HashMap::new(),
            naming: &naming,
        };
        let topic = events.interface();
        let owner = naming.made(topic, Made::Event);
        let event = namer.name(topic, owner);
        let operations = events.kinds().iter().map(|it| it.name());
        let choices = naming.members(owner, operations);
        let is_choice = events.kinds().len() > 1;
        let mut kinds = Vec::new();
        for (kind, choice) in events.kinds().iter().zip(choices) {
            let inputs = kind.operation().inputs();
            let parameters = (kind.payload() == Payload::Parameters).then(|| {
                let made = Made::Parameters(kind.name().to_owned());
                let owner = naming.made(kind.interface(), made);
                namer.members(kind.interface(), owner, inputs)
            });
            kinds.push(KindNames {
                choice: is_choice.then(|| namer.name(topic, &choice)),
                parameters,
            });
            for member in inputs.members() {
                namer.layout(member.layout());
            }
        }
        Self {
            namespaces: namer.namespaces,
            event,
            kinds,
            records: namer.records,
            items: namer.items,
            entries: namer.entries,
        }
    }

    /// The element of an event.
    pub fn event(&self) -> &Name {
        &self.event
    }

    /// The namespaces, by the numbers of their prefixes.
    pub(super) fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    pub(super) fn kinds(&self) -> &[KindNames] {
        &self.kinds
    }

    pub(super) fn record(&self, record: &Record) -> Option<&[Name]> {
        self.records.get(record.name()).map(Vec::as_slice)
    }

    pub(super) fn item(&self, layout: &Layout) -> Option<&Name> {
        self.items.get(layout.name())
    }

    pub(super) fn entry(&self, layout: &Layout) -> Option<&EntryNames> {
        self.entries.get(layout.name())
    }
}

struct Namer<'m> {
    model: &'m Model,
    naming: &'m Naming<'m>,
    base: &'m str,
    namespaces: Vec<String>,
    records: HashMap<String, Vec<Name>>,
    items: HashMap<String, Name>,
    entries: HashMap<String, EntryNames>,
}

impl Namer<'_> {
    /// A name in the namespace of the module of a definition.
    fn name(&mut self, owner: DefinitionId, local: &str) -> Name {
        let uri = namespace(self.naming, self.base, owner);
        let found = self.namespaces.iter().position(|it| *it == uri);
        let namespace = found.unwrap_or_else(|| {
            self.namespaces.push(uri);
            self.namespaces.len() - 1
        });
        Name {
            namespace,
            local: local.to_owned(),
            qualified: format!("ns{}:{local}", namespace + 1),
        }
    }

    fn members(&mut self, owner: DefinitionId, spelled: &str, record: &Record) -> Vec<Name> {
        let names = record.members().iter().map(|it| it.name());
        let names = self.naming.members(spelled, names);
        names.iter().map(|it| self.name(owner, it)).collect()
    }

    /// Names a type, and all that it consists of.
    fn layout(&mut self, layout: &Layout) {
        let Some(id) = self.model.find(layout.name()) else {
            return;
        };
        match layout.shape() {
            Shape::Struct(record) if !self.records.contains_key(record.name()) => {
                let spelled = self.naming.definition(id);
                let names = self.members(id, spelled, record);
                self.records.insert(record.name().to_owned(), names);
                for member in record.members() {
                    self.layout(member.layout());
                }
            }
            Shape::Sequence(element) if !self.items.contains_key(layout.name()) => {
                let name = self.name(id, "item");
                self.items.insert(layout.name().to_owned(), name);
                self.layout(element);
            }
            Shape::Dictionary { key, value } if !self.entries.contains_key(layout.name()) => {
                let names = EntryNames {
                    entry: self.name(id, "entry"),
                    key: self.name(id, "key"),
                    value: self.name(id, "value"),
                };
                self.entries.insert(layout.name().to_owned(), names);
                self.layout(key);
                self.layout(value);
            }
            _ => {}
        }
    }
}

/// How SOAP says a topic.
pub(super) fn judge(topic: &TopicPlan, base: &str) -> Vec<Finding> {
    let mut findings = vec![name(topic)];
    let mut has_strings = false;
    let mut is_refused = false;
    for kind in topic.events.kinds() {
        for member in kind.operation().inputs().members() {
            has_strings |= any(member.layout(), &|it| {
                matches!(it.shape(), Shape::Primitive(Primitive::String))
            });
        }
        if let Err(refused) = kind.operation().inputs().check(accept) {
            is_refused = true;
            findings.push(Finding {
                subject: format!("type {}", refused.path),
                said_as: String::new(),
                verdict: Verdict::Refused {
                    why: refused.reason,
                    fix: "make it a struct, or leave the topic out of [bridge.soap]".to_owned(),
                },
            });
        }
    }
    if is_refused {
        return findings;
    }
    let names = Names::new(&topic.events, base);
    findings.push(Finding {
        subject: format!("type {}", topic.events.type_id()),
        said_as: format!("element {{{}}}{}", names.event().namespace(&names), names.event().local()),
        verdict: match has_strings {
            true => Verdict::Weaker(
                "XML cannot hold most control characters: an event with one is refused, and counted"
                    .to_owned(),
            ),
            false => Verdict::Exact,
        },
    });
    if topic.direction.is_in() {
        findings.push(finding(
            "publishing",
            "Notify, answered when the hub has the event",
            Verdict::Exact,
        ));
    }
    if topic.direction.is_out() {
        findings.push(finding(
            "delivery by Notify",
            "each event is answered, and sent again until it is",
            Verdict::Weaker(
                "the lease of a subscription ends, and so does one whose consumer stays away"
                    .to_owned(),
            ),
        ));
        findings.push(finding(
            "delivery by pull point",
            "GetMessages, PullMessages",
            Verdict::Weaker(
                "an answer that is lost on its way takes its events with it".to_owned(),
            ),
        ));
    }
    findings
}

fn finding(subject: &str, said_as: &str, verdict: Verdict) -> Finding {
    Finding {
        subject: subject.to_owned(),
        said_as: said_as.to_owned(),
        verdict,
    }
}

fn name(topic: &TopicPlan) -> Finding {
    let name = &topic.name;
    let is_sayable = name.chars().all(is_character) && name.trim() == name && !name.is_empty();
    if !is_sayable {
        return Finding {
            subject: "name".to_owned(),
            said_as: String::new(),
            verdict: Verdict::Refused {
                why: format!(
                    "{name:?} is no topic expression: it is empty, begins or ends with a space, or has a control character"
                ),
                fix: "give it another name with `name = \"...\"`".to_owned(),
            },
        };
    }
    let verdict = match World::Xml.escaped(name) == *name {
        true => Verdict::Exact,
        false => Verdict::Weaker(
            "it is no name of XML, so that programs must write the topic expression as a text"
                .to_owned(),
        ),
    };
    finding("name", &format!("topic {name}"), verdict)
}

fn accept(layout: &Layout) -> Result<(), String> {
    match layout.shape() {
        Shape::Class { .. } => Err(format!(
            "{} is a class, and an XML schema has no type for a graph of instances",
            layout.name()
        )),
        Shape::Unsupported => Err(format!("{} nests too deep", layout.name())),
        _ => Ok(()),
    }
}

/// True if something holds for a type, or for one that it consists of.
fn any(layout: &Layout, holds: &impl Fn(&Layout) -> bool) -> bool {
    let within = match layout.shape() {
        Shape::Struct(record) => record.members().iter().any(|it| any(it.layout(), holds)),
        Shape::Sequence(element) => any(element, holds),
        Shape::Dictionary { key, value } => any(key, holds) || any(value, holds),
        _ => false,
    };
    within || holds(layout)
}
