//! Topics in DDS: their names and types, and how well they can be said.

use floe_codegen::foreign::{Made, Naming, Payload, World};
use floe_dynamic::{Layout, Shape};
use floe_rtps::discovery::NAME_LEN_MAX;
use floe_slice::model::DefinitionId;

use crate::core::mapping::{EventTypes, Finding, Verdict};
use crate::hub::TopicPlan;

/// The name of the type of the samples, as DDS has it: `Demo::Tick`.
pub fn type_name(events: &EventTypes) -> String {
    let model = events.contract().model();
    let naming = Naming::new(model, World::Idl);
    let in_module_of = |id: DefinitionId, name: &str| {
        let mut names = naming.modules_of(id);
        names.push(name);
        names.join("::")
    };
    let Some(only) = events.only() else {
        let id = events.interface();
        return in_module_of(id, naming.made(id, Made::Event));
    };
    match only.payload() {
        Payload::Struct(id) => in_module_of(id, naming.definition(id)),
        Payload::Parameters => {
            let id = only.interface();
            let made = Made::Parameters(only.name().to_owned());
            in_module_of(id, naming.made(id, made))
        }
    }
}

/// How well DDS can say a topic.
pub fn judge(topic: &TopicPlan) -> Vec<Finding> {
    vec![
        topic_name(&topic.name),
        event_type(&topic.events),
        Finding {
            subject: "delivery".to_owned(),
            said_as: "reliable, volatile, keep all".to_owned(),
            verdict: Verdict::Weaker(
                "a reader gets only what is published while it is there, and one that does not answer for a minute loses \
                 what it has not taken"
                    .to_owned(),
            ),
        },
        Finding {
            subject: "context".to_owned(),
            said_as: "nothing".to_owned(),
            verdict: Verdict::Weaker("a sample has no context".to_owned()),
        },
    ]
}

fn topic_name(name: &str) -> Finding {
    let refused = |why: String| Finding {
        subject: "name".to_owned(),
        said_as: String::new(),
        verdict: Verdict::Refused {
            why,
            fix: "give the topic another `name` in [[bridge.dds.topic]]".to_owned(),
        },
    };
    if name.is_empty() || name.contains('\0') {
        return refused("a topic of DDS has a name without the character of code 0".to_owned());
    }
    if name.len() > NAME_LEN_MAX {
        return refused(format!(
            "its name has {} bytes, and that of a topic of DDS at most {NAME_LEN_MAX}",
            name.len()
        ));
    }
    Finding {
        subject: "name".to_owned(),
        said_as: format!("topic {name}"),
        verdict: match is_plain(name) {
            true => Verdict::Exact,
            false => Verdict::Weaker(
                "Cyclone DDS and others make topics only of ASCII letters, digits, underscores and slashes, no digit first: \
                 give it another `name`"
                    .to_owned(),
            ),
        },
    }
}

/// A name that every implementation takes.
fn is_plain(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '/';
    name.chars().all(is_plain) && !name.starts_with(|it: char| it.is_ascii_digit())
}

fn event_type(events: &EventTypes) -> Finding {
    let subject = format!("type {}", events.type_id());
    let refused = |why: String, fix: &str| Finding {
        subject: subject.clone(),
        said_as: String::new(),
        verdict: Verdict::Refused {
            why,
            fix: fix.to_owned(),
        },
    };
    for kind in events.kinds() {
        if let Err(error) = kind.operation().inputs().check(accept) {
            return refused(
                error.to_string(),
                "make it a struct, or put the operation into another interface",
            );
        }
    }
    let name = type_name(events);
    if name.len() > NAME_LEN_MAX {
        let why = format!("{name} is longer than {NAME_LEN_MAX} bytes");
        return refused(why, "shorten the names of the modules or of the type");
    }
    let keyword = match events.only() {
        Some(_) => "struct",
        None => "union",
    };
    Finding {
        subject,
        said_as: format!("{keyword} {name}"),
        verdict: Verdict::Exact,
    }
}

fn accept(layout: &Layout) -> Result<(), String> {
    match layout.shape() {
        Shape::Class { .. } => Err(
            "a class instance can be nil, shared or part of a circle, and CDR cannot".to_owned(),
        ),
        Shape::Unsupported => Err("it nests too deep".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use floe_dynamic::Contract;
    use floe_slice::check_source;

    use super::*;
    use crate::core::mapping::Direction;

    fn plan(name: &str, interface: &str) -> TopicPlan {
        let slice = b"module Demo {
            enum Side { buy, sell }
            struct Tick { Side side; }
            class Node { int id; }
            interface Ticker { void tick(Tick tick); }
            interface Opening { void opened(string exchange, int volume); }
            interface Trading extends Ticker { void halted(string why); }
            interface Graphs { void seen(Node node); }
        }";
        let contract = Contract::new(check_source(slice).model);
        TopicPlan {
            topic: name.to_owned(),
            name: name.to_owned(),
            direction: Direction::Both,
            events: Arc::new(EventTypes::new(&contract, interface).expect("they are events")),
        }
    }

    #[test]
    fn types_have_the_names_of_the_idl() {
        let name = |interface| type_name(&plan("t", interface).events);
        assert_eq!(name("::Demo::Ticker"), "Demo::Tick");
        assert_eq!(name("::Demo::Opening"), "Demo::Opening_opened");
        assert_eq!(name("::Demo::Trading"), "Demo::Trading_Event");
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let refused = |name, interface| {
            let findings = judge(&plan(name, interface));
            let refused = findings.into_iter().filter(|it| it.verdict.is_refused());
            refused.map(|it| it.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(refused("Ticks", "::Demo::Ticker"), Vec::<String>::new());
        assert_eq!(
            refused("Ticks", "::Demo::Graphs"),
            [
                "type ::Demo::Graphs: refused: seen.node: a class instance can be nil, shared or part of a circle, and CDR cannot; \
                 make it a struct, or put the operation into another interface"
            ]
        );
        assert_eq!(refused("a\0b", "::Demo::Ticker").len(), 1);
        assert_eq!(
            refused(&"a".repeat(NAME_LEN_MAX + 1), "::Demo::Ticker").len(),
            1
        );
        let spaced = judge(&plan("my ticks", "::Demo::Ticker"));
        assert!(matches!(spaced[0].verdict, Verdict::Weaker(_)));
    }
}
