//! Names and types of a topic over there, and which links it takes.

use std::net::SocketAddr;

use floe_amqp::condition::{self, AmqpError};
use floe_amqp::connection::AttachRequest;
use floe_amqp::jms::Subscription;
use floe_amqp::terminus::{Source, Target, capability};

use super::codec::{can_be_entries, can_be_text};
use super::{MessageBody, Settings};
use crate::core::mapping::{EventKind, Finding, Verdict};
use crate::hub::TopicPlan;

/// The most bytes of the name of a topic: the limit of an address ([`Limits::name_len_max`]).
///
/// [`Limits::name_len_max`]: floe_amqp::limits::Limits::name_len_max
pub(crate) const NAME_LEN_MAX: usize = 1_024;

/// In front of the name of a topic in some JMS programs.
const TOPIC_PREFIX: &str = "topic://";

/// How a topic is said over there, by a broker with these settings.
pub(crate) fn judge(topic: &TopicPlan, settings: &Settings) -> Vec<Finding> {
    let body = settings.body(&topic.topic);
    let mut findings = vec![judge_address(&settings.listen), judge_name(&topic.name)];
    for kind in topic.events.kinds() {
        findings.push(judge_kind(kind, body));
    }
    findings.push(Finding {
        subject: "delivery".to_owned(),
        said_as: "settled when taken".to_owned(),
        verdict: Verdict::Weaker(
            "a consumer's subscription ends with it, and events that come later are not kept for it"
                .to_owned(),
        ),
    });
    findings
}

/// Names of hosts are looked up when the broker starts, and judged then.
fn judge_address(listen: &str) -> Finding {
    let address: Option<SocketAddr> = listen.parse().ok();
    let is_beyond = address.is_some_and(|address| !address.ip().is_loopback());
    Finding {
        subject: "listen".to_owned(),
        said_as: match is_beyond {
            true => String::new(),
            false => format!("amqp://{listen}"),
        },
        verdict: match is_beyond {
            true => Verdict::Refused {
                why: format!(
                    "other computers reach {listen}, and passwords would pass in the clear"
                ),
                fix: "listen at 127.0.0.1".to_owned(),
            },
            false => Verdict::Exact,
        },
    }
}

fn judge_kind(kind: &EventKind, body: MessageBody) -> Finding {
    let (said_as, checked) = match body {
        MessageBody::Text => (
            "TextMessage, JSON",
            kind.operation().inputs().check(can_be_text),
        ),
        MessageBody::Map => (
            "MapMessage",
            kind.operation().inputs().check(can_be_entries),
        ),
    };
    let subject = format!("operation {}", kind.name());
    match checked {
        Ok(()) => Finding {
            subject,
            said_as: said_as.to_owned(),
            verdict: Verdict::Exact,
        },
        Err(refused) => Finding {
            subject,
            said_as: String::new(),
            verdict: Verdict::Refused {
                why: refused.to_string(),
                fix: match kind.operation().inputs().check(can_be_text) {
                    Ok(()) => "leave out body = \"map\": a text can say it".to_owned(),
                    Err(_) => "make it a struct".to_owned(),
                },
            },
        },
    }
}

fn judge_name(name: &str) -> Finding {
    let refused = |why: &str, fix: &str| Verdict::Refused {
        why: why.to_owned(),
        fix: fix.to_owned(),
    };
    let verdict = if name.is_empty() {
        refused("an address is not empty", "set name")
    } else if name.len() > NAME_LEN_MAX {
        refused("an address has at most 1024 bytes", "set a shorter name")
    } else if name.starts_with(TOPIC_PREFIX) {
        refused(
            "programs may write topic:// in front of a name, and it is taken off",
            "leave it out of name",
        )
    } else {
        Verdict::Exact
    };
    Finding {
        subject: "name".to_owned(),
        said_as: match verdict {
            Verdict::Exact => format!("topic {name}"),
            _ => String::new(),
        },
        verdict,
    }
}

/// The name of a topic in an address.
pub(crate) fn name_of(address: &str) -> &str {
    address.strip_prefix(TOPIC_PREFIX).unwrap_or(address)
}

/// The address from which a consumer wants messages.
///
/// # Errors
/// The kind of subscription that is asked for does not exist here.
pub(crate) fn source_address(request: &AttachRequest) -> Result<&str, AmqpError> {
    let Some(source) = &request.source else {
        return Err(AmqpError::new(
            condition::NOT_FOUND,
            format!(
                "expected the name of a durable subscription, got `{}`: subscriptions of this broker end with their consumers",
                request.name
            ),
        ));
    };
    check_node(source.dynamic, &source.capabilities)?;
    let asked = Subscription::of(&request.name, source);
    let not_offered = if asked.is_durable {
        Some("a durable subscription")
    } else if asked.is_shared {
        Some("a shared subscription")
    } else if source.filter.selector().is_some() {
        Some("a message selector")
    } else if source.filter.no_local() {
        Some("a subscription without messages of its own connection (noLocal)")
    } else {
        None
    };
    if let Some(asked) = not_offered {
        return Err(AmqpError::new(
            condition::NOT_IMPLEMENTED,
            format!(
                "expected a plain subscription of a topic, got {asked}, which this broker does not offer"
            ),
        ));
    }
    let address = source.address.as_deref();
    address.map(name_of).ok_or_else(|| no_address("source"))
}

/// The address to which a producer sends; `None` if each message names its own.
///
/// # Errors
/// The kind of target that is asked for does not exist here.
pub(crate) fn target_address(target: &Target) -> Result<Option<&str>, AmqpError> {
    check_node(target.dynamic, &target.capabilities)?;
    Ok(target.address.as_deref().map(name_of))
}

/// The source of an accepted link.
pub(crate) fn accepted_source(asked: &Source) -> Source {
    Source {
        address: asked.address.clone(),
        expiry_policy: asked.expiry_policy,
        default_outcome: asked.default_outcome.clone(),
        outcomes: floe_amqp::performative::outcome_names(),
        capabilities: vec![capability::TOPIC],
        ..Source::default()
    }
}

fn check_node(
    is_dynamic: bool,
    capabilities: &[floe_amqp::codec::Symbol],
) -> Result<(), AmqpError> {
    let has = |one| capabilities.contains(&one);
    let asked =
        if is_dynamic || has(capability::TEMPORARY_QUEUE) || has(capability::TEMPORARY_TOPIC) {
            "a temporary queue or topic"
        } else if has(capability::QUEUE) {
            "a queue"
        } else {
            return Ok(());
        };
    Err(AmqpError::new(
        condition::NOT_IMPLEMENTED,
        format!("expected a topic, got {asked}, which this broker does not offer"),
    ))
}

fn no_address(what: &str) -> AmqpError {
    AmqpError::new(
        condition::INVALID_FIELD,
        format!("expected the name of a topic as the address of the {what}, got none"),
    )
}
