//! The bodies of answers, and of notifications.

use super::namespaces::{CONCRETE_TOPIC, ONVIF_EVENTS, WSA, WSN_ACTION, WSNT};
use crate::soap::codec::text::escaped;

/// An answer to a request that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The hub has the events. There is nothing to say.
    Notified,
    /// A subscription: its URL, the time, and the time at which it ends.
    Subscribed {
        url: String,
        now: String,
        until: String,
    },
    /// A pull point: its URL.
    PullPoint { url: String },
    /// A pull point with a subscription, as [`Answer::Subscribed`].
    PullPointSubscribed {
        url: String,
        now: String,
        until: String,
    },
    /// Events of a pull point.
    Messages(Vec<Notification>),
    /// Events of a pull point that waited for them.
    Pulled {
        messages: Vec<Notification>,
        now: String,
        until: String,
    },
    /// A lease was extended.
    Renewed { now: String, until: String },
    /// A subscription has ended.
    Unsubscribed,
    /// A pull point has ended.
    Destroyed,
}

/// An event on its way to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notification {
    pub(crate) topic: String,
    /// The element of the event.
    pub(crate) event: String,
}

impl Answer {
    /// The action of the message.
    pub(crate) fn action(&self) -> String {
        let (base, name) = match self {
            Self::Notified => (WSN_ACTION, "NotificationConsumer/Notify"),
            Self::Subscribed { .. } => (WSN_ACTION, "NotificationProducer/SubscribeResponse"),
            Self::PullPoint { .. } => (WSN_ACTION, "CreatePullPoint/CreatePullPointResponse"),
            Self::PullPointSubscribed { .. } => (
                ONVIF_EVENTS,
                "EventPortType/CreatePullPointSubscriptionResponse",
            ),
            Self::Messages(_) => (WSN_ACTION, "PullPoint/GetMessagesResponse"),
            Self::Pulled { .. } => (ONVIF_EVENTS, "PullPointSubscription/PullMessagesResponse"),
            Self::Renewed { .. } => (WSN_ACTION, "SubscriptionManager/RenewResponse"),
            Self::Unsubscribed => (WSN_ACTION, "SubscriptionManager/UnsubscribeResponse"),
            Self::Destroyed => (WSN_ACTION, "PullPoint/DestroyPullPointResponse"),
        };
        format!("{base}/{name}")
    }

    /// The body; `None` if the answer is that there is one.
    pub(crate) fn body(&self) -> Option<String> {
        let wsnt = |name: &str, content: &str| {
            format!("<wsnt:{name} xmlns:wsnt=\"{WSNT}\">{content}</wsnt:{name}>")
        };
        let onvif = |name: &str, content: &str| {
            format!(
                "<tev:{name} xmlns:tev=\"{ONVIF_EVENTS}\" xmlns:wsnt=\"{WSNT}\">{content}</tev:{name}>"
            )
        };
        let reference = |url: &str| {
            format!(
                "<wsa:Address xmlns:wsa=\"{WSA}\">{}</wsa:Address>",
                escaped(url)
            )
        };
        Some(match self {
            Self::Notified => return None,
            Self::Subscribed { url, now, until } => wsnt(
                "SubscribeResponse",
                &format!(
                    "<wsnt:SubscriptionReference>{}</wsnt:SubscriptionReference><wsnt:CurrentTime>{now}</wsnt:CurrentTime>\
                     <wsnt:TerminationTime>{until}</wsnt:TerminationTime>",
                    reference(url)
                ),
            ),
            Self::PullPoint { url } => wsnt(
                "CreatePullPointResponse",
                &format!("<wsnt:PullPoint>{}</wsnt:PullPoint>", reference(url)),
            ),
            Self::PullPointSubscribed { url, now, until } => onvif(
                "CreatePullPointSubscriptionResponse",
                &format!(
                    "<tev:SubscriptionReference>{}</tev:SubscriptionReference><wsnt:CurrentTime>{now}</wsnt:CurrentTime>\
                     <wsnt:TerminationTime>{until}</wsnt:TerminationTime>",
                    reference(url)
                ),
            ),
            Self::Messages(messages) => wsnt("GetMessagesResponse", &holders(messages)),
            Self::Pulled {
                messages,
                now,
                until,
            } => onvif(
                "PullMessagesResponse",
                &format!(
                    "<tev:CurrentTime>{now}</tev:CurrentTime><tev:TerminationTime>{until}</tev:TerminationTime>{}",
                    holders(messages)
                ),
            ),
            Self::Renewed { now, until } => wsnt(
                "RenewResponse",
                &format!(
                    "<wsnt:TerminationTime>{until}</wsnt:TerminationTime><wsnt:CurrentTime>{now}</wsnt:CurrentTime>"
                ),
            ),
            Self::Unsubscribed => wsnt("UnsubscribeResponse", ""),
            Self::Destroyed => wsnt("DestroyPullPointResponse", ""),
        })
    }
}

/// The body of a Notify, and its action.
pub(crate) fn notify(messages: &[Notification]) -> (String, String) {
    let holders = holders(messages);
    (
        format!("<wsnt:Notify xmlns:wsnt=\"{WSNT}\">{holders}</wsnt:Notify>"),
        format!("{WSN_ACTION}/NotificationConsumer/Notify"),
    )
}

fn holders(messages: &[Notification]) -> String {
    let mut out = String::new();
    for message in messages {
        out += "<wsnt:NotificationMessage><wsnt:Topic Dialect=\"";
        out += CONCRETE_TOPIC;
        out += "\">";
        out += &escaped(&message.topic);
        out += "</wsnt:Topic><wsnt:Message>";
        out += &message.event;
        out += "</wsnt:Message></wsnt:NotificationMessage>";
    }
    out
}
