//! Requests of a peer: the operations of Base Notification 1.3, and pull points that wait.

use std::time::Duration;

use super::namespaces::{CONCRETE_TOPIC, FULL_TOPIC, ONVIF_EVENTS, SIMPLE_TOPIC, WSA, WSNT};
use super::time::duration;
use super::{Fault, Lease, NotificationFault};
use crate::soap::codec::{Document, ElementId};

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Publishes events, in order.
    Notify(Vec<Message>),
    /// Sends the events of a topic to a consumer.
    Subscribe {
        /// Its URL: a program's, or that of a pull point.
        consumer: String,
        /// The topic, if it was said.
        topic: Option<String>,
        termination: Termination,
    },
    /// Makes a pull point, which gets events by subscriptions.
    CreatePullPoint,
    /// Makes a pull point with a subscription to a topic.
    CreatePullPointSubscription {
        topic: Option<String>,
        termination: Termination,
    },
    /// Takes events out of a pull point: at most so many.
    GetMessages { max: usize },
    /// Takes events out of a pull point, and waits for the first.
    PullMessages { max: usize, patience: Duration },
    /// Extends a subscription.
    Renew(Termination),
    /// Ends a subscription.
    Unsubscribe,
    /// Ends a pull point.
    DestroyPullPoint,
}

/// An event that a peer publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its topic, if it was said.
    pub(crate) topic: Option<String>,
    /// The element of the event.
    pub(crate) event: ElementId,
}

/// When a subscription shall end; `None` leaves it to this end.
pub(crate) type Termination = Option<Lease>;

/// The thing that a request is sent to: a part of its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    Broker,
    PullPoint(String),
    Subscription(String),
}

impl Resource {
    /// The resource of a path; `None` if there can be none.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let id = |text: &str| {
            let is_id = text.len() == ID_LEN && text.bytes().all(|it| it.is_ascii_hexdigit());
            is_id.then(|| text.to_owned())
        };
        if let Some(rest) = path.strip_prefix(PULL_POINTS) {
            return id(rest).map(Self::PullPoint);
        }
        if let Some(rest) = path.strip_prefix(SUBSCRIPTIONS) {
            return id(rest).map(Self::Subscription);
        }
        Some(Self::Broker)
    }

    /// Its URL.
    pub(crate) fn url(&self, base: &str) -> String {
        match self {
            Self::Broker => format!("{base}/"),
            Self::PullPoint(id) => format!("{base}{PULL_POINTS}{id}"),
            Self::Subscription(id) => format!("{base}{SUBSCRIPTIONS}{id}"),
        }
    }
}

const PULL_POINTS: &str = "/pullpoints/";
const SUBSCRIPTIONS: &str = "/subscriptions/";
/// Hexadecimal digits of 128 random bits: whoever knows the URL may use it, so it must not be guessed.
pub(crate) const ID_LEN: usize = 32;

/// Events that one answer brings if a peer does not say how many it wants.
const MESSAGES_USUAL: usize = 100;
/// The most events of one answer, and of one Notify.
const MESSAGES_MAX: usize = 1000;
/// The longest that a request for events waits. A peer that wants more asks again.
const PATIENCE_MAX: Duration = Duration::from_secs(60);

impl Request {
    /// Reads the content of a body. `now` is a time as text, for faults.
    ///
    /// # Errors
    /// [`Fault`]: it is no request that is served here.
    pub(crate) fn read(
        document: &Document<'_>,
        content: ElementId,
        now: &str,
    ) -> Result<Self, Fault> {
        let reader = RequestReader { document, now };
        let name = document.name(content);
        match (document.namespace(content), name) {
            (WSNT, "Notify") => reader.notify(content),
            (WSNT, "Subscribe") => reader.subscribe(content),
            (WSNT, "CreatePullPoint") => Ok(Self::CreatePullPoint),
            (ONVIF_EVENTS, "CreatePullPointSubscription") => {
                Ok(Self::CreatePullPointSubscription {
                    topic: reader.filter(document.child(content, ONVIF_EVENTS, "Filter"))?,
                    termination: reader.termination(document.child(
                        content,
                        ONVIF_EVENTS,
                        "InitialTerminationTime",
                    ))?,
                })
            }
            (WSNT, "GetMessages") => Ok(Self::GetMessages {
                max: reader.count(document.child(content, WSNT, "MaximumNumber"))?,
            }),
            (ONVIF_EVENTS, "PullMessages") => reader.pull_messages(content),
            (WSNT, "Renew") => reader
                .termination(document.child(content, WSNT, "TerminationTime"))
                .map(Self::Renew),
            (WSNT, "Unsubscribe") => Ok(Self::Unsubscribe),
            (WSNT, "DestroyPullPoint") => Ok(Self::DestroyPullPoint),
            (WSNT, "GetCurrentMessage") => Err(Fault::notification(
                NotificationFault::NoCurrentMessageOnTopic,
                now,
                "the last event of a topic is not kept for later; subscribe, and take the next",
            )),
            (WSNT, "PauseSubscription" | "ResumeSubscription") => Err(Fault::sender(
                "a subscription cannot be paused; use a pull point, which holds events until they are taken",
            )),
            (namespace, _) => {
                let cut = |text: &str| text.chars().take(64).collect::<String>();
                Err(Fault::sender(format!(
                    "expected Notify, Subscribe, CreatePullPoint, GetMessages, Renew, Unsubscribe or DestroyPullPoint of {WSNT}, \
                     or CreatePullPointSubscription or PullMessages of {ONVIF_EVENTS}, got {{{}}}{}",
                    cut(namespace),
                    cut(name)
                )))
            }
        }
    }
}

struct RequestReader<'d, 'x> {
    document: &'d Document<'x>,
    now: &'d str,
}

impl RequestReader<'_, '_> {
    fn notify(&self, content: ElementId) -> Result<Request, Fault> {
        let document = self.document;
        let mut messages = Vec::new();
        let holders = document.children(content);
        for holder in holders.filter(|it| document.is(*it, WSNT, "NotificationMessage")) {
            if messages.len() >= MESSAGES_MAX {
                return Err(Fault::sender(format!(
                    "expected at most {MESSAGES_MAX} events in one Notify; send several"
                )));
            }
            let topic = document.child(holder, WSNT, "Topic");
            let message = document.child(holder, WSNT, "Message");
            let message = message
                .ok_or_else(|| Fault::sender("expected a Message in the NotificationMessage"))?;
            let mut events = document.children(message);
            let (Some(event), None) = (events.next(), events.next()) else {
                return Err(Fault::sender(format!(
                    "expected one element in the Message, the event, got {}",
                    document.child_count(message)
                )));
            };
            messages.push(Message {
                topic: topic.map(|it| self.topic(it)).transpose()?,
                event,
            });
        }
        match messages.is_empty() {
            true => Err(Fault::sender(
                "expected a NotificationMessage in the Notify",
            )),
            false => Ok(Request::Notify(messages)),
        }
    }

    fn subscribe(&self, content: ElementId) -> Result<Request, Fault> {
        let document = self.document;
        let failed = |reason: &str| {
            Fault::notification(NotificationFault::SubscribeCreationFailed, self.now, reason)
        };
        let consumer = document.child(content, WSNT, "ConsumerReference");
        let consumer = consumer.ok_or_else(|| failed("expected a ConsumerReference"))?;
        let parameters = document.child(consumer, WSA, "ReferenceParameters");
        if parameters.is_some_and(|it| document.child_count(it) > 0) {
            return Err(failed(
                "reference parameters are not sent back: put what tells consumers apart into the address",
            ));
        }
        let address = document.child(consumer, WSA, "Address");
        let address = address.map(|it| document.text(it).trim().to_owned());
        if document
            .child(content, WSNT, "SubscriptionPolicy")
            .is_some_and(|it| document.child_count(it) > 0)
        {
            return Err(Fault::notification(
                NotificationFault::UnrecognizedPolicyRequest,
                self.now,
                "no policy is known: events come in Notify, and are not raw",
            ));
        }
        Ok(Request::Subscribe {
            consumer: address
                .ok_or_else(|| failed("expected an Address in the ConsumerReference"))?,
            topic: self.filter(document.child(content, WSNT, "Filter"))?,
            termination: self.termination(document.child(
                content,
                WSNT,
                "InitialTerminationTime",
            ))?,
        })
    }

    /// The topic of a filter.
    fn filter(&self, filter: Option<ElementId>) -> Result<Option<String>, Fault> {
        let Some(filter) = filter else {
            return Ok(None);
        };
        let mut topic = None;
        for part in self.document.children(filter) {
            if !self.document.is(part, WSNT, "TopicExpression") || topic.is_some() {
                return Err(Fault::notification(
                    NotificationFault::InvalidFilter,
                    self.now,
                    "expected one TopicExpression in the Filter; events are not filtered by content here",
                ));
            }
            topic = Some(self.topic(part)?);
        }
        Ok(topic)
    }

    fn topic(&self, expression: ElementId) -> Result<String, Fault> {
        let dialect = self.document.attribute(expression, "", "Dialect");
        if let Some(dialect) = dialect
            && ![SIMPLE_TOPIC, CONCRETE_TOPIC, FULL_TOPIC].contains(&dialect.trim())
        {
            return Err(Fault::notification(
                NotificationFault::TopicExpressionDialectUnknown,
                self.now,
                format!("expected the dialect {SIMPLE_TOPIC} or {CONCRETE_TOPIC}"),
            ));
        }
        let text = self.document.text(expression).trim();
        match self.document.child_count(expression) == 0 && !text.is_empty() {
            true => Ok(text.to_owned()),
            false => Err(Fault::notification(
                NotificationFault::InvalidTopicExpression,
                self.now,
                "expected the name of a topic as the topic expression",
            )),
        }
    }

    fn termination(&self, element: Option<ElementId>) -> Result<Termination, Fault> {
        let text = element.map_or("", |it| self.document.text(it).trim());
        if text.is_empty() {
            return Ok(None);
        }
        let lease = Lease::parse(text);
        lease.map(Some).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            Fault::notification(
                NotificationFault::UnacceptableTerminationTime,
                self.now,
                format!("expected a date such as 2026-11-28T20:00:00Z or a duration such as PT1H, got {shown:?}"),
            )
        })
    }

    fn count(&self, element: Option<ElementId>) -> Result<usize, Fault> {
        let Some(element) = element else {
            return Ok(MESSAGES_USUAL);
        };
        let text = self.document.text(element).trim();
        match text.parse::<u64>() {
            // Observed: CXF's client sends 0 when its caller wants all.
            Ok(0) => Ok(MESSAGES_USUAL),
            Ok(count) => Ok(usize::try_from(count)
                .unwrap_or(MESSAGES_MAX)
                .min(MESSAGES_MAX)),
            Err(_) => Err(Fault::notification(
                NotificationFault::UnableToGetMessages,
                self.now,
                "expected the most messages that are wanted as a number",
            )),
        }
    }

    fn pull_messages(&self, content: ElementId) -> Result<Request, Fault> {
        let document = self.document;
        let patience = document.child(content, ONVIF_EVENTS, "Timeout");
        let patience = patience.and_then(|it| duration(document.text(it).trim()));
        let patience = patience
            .ok_or_else(|| Fault::sender("expected a duration such as PT5S as the Timeout"))?;
        Ok(Request::PullMessages {
            max: self.count(document.child(content, ONVIF_EVENTS, "MessageLimit"))?,
            patience: patience.min(PATIENCE_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Request, String> {
        let text =
            format!("<x xmlns:n='{WSNT}' xmlns:a='{WSA}' xmlns:o='{ONVIF_EVENTS}'>{content}</x>");
        let document = Document::parse(&text).expect("it is XML");
        let content = document
            .children(document.root())
            .next()
            .expect("a request");
        Request::read(&document, content, "now").map_err(|it| it.reason().to_owned())
    }

    #[test]
    fn requests_are_read() {
        let topic = Some("ticks".to_owned());
        let consumer = "http://127.0.0.1:9/".to_owned();
        let reference = "<n:ConsumerReference><a:Address> http://127.0.0.1:9/ </a:Address></n:ConsumerReference>";
        let filter = format!(
            "<n:Filter><n:TopicExpression Dialect='{SIMPLE_TOPIC}'> ticks </n:TopicExpression></n:Filter>"
        );
        let cases = [
            (
                format!("<n:Subscribe>{reference}{filter}<n:InitialTerminationTime>PT1M</n:InitialTerminationTime></n:Subscribe>"),
                Request::Subscribe { consumer: consumer.clone(), topic: topic.clone(), termination: Some(Lease::For(Duration::from_secs(60))) },
            ),
            (format!("<n:Subscribe>{reference}</n:Subscribe>"), Request::Subscribe { consumer, topic: None, termination: None }),
            ("<n:CreatePullPoint/>".to_owned(), Request::CreatePullPoint),
            (
                format!("<o:CreatePullPointSubscription>{}</o:CreatePullPointSubscription>", filter.replace("n:Filter", "o:Filter")),
                Request::CreatePullPointSubscription { topic, termination: None },
            ),
            ("<n:GetMessages/>".to_owned(), Request::GetMessages { max: 100 }),
            ("<n:GetMessages><n:MaximumNumber>7</n:MaximumNumber></n:GetMessages>".to_owned(), Request::GetMessages { max: 7 }),
            ("<n:GetMessages><n:MaximumNumber>99999999999</n:MaximumNumber></n:GetMessages>".to_owned(), Request::GetMessages { max: 1000 }),
            (
                "<o:PullMessages><o:Timeout>PT5M</o:Timeout><o:MessageLimit>2</o:MessageLimit></o:PullMessages>".to_owned(),
                Request::PullMessages { max: 2, patience: Duration::from_secs(60) },
            ),
            ("<n:Renew><n:TerminationTime/></n:Renew>".to_owned(), Request::Renew(None)),
            ("<n:Unsubscribe/>".to_owned(), Request::Unsubscribe),
            ("<n:DestroyPullPoint/>".to_owned(), Request::DestroyPullPoint),
        ];
        for (content, expected) in cases {
            assert_eq!(read(&content), Ok(expected), "{content}");
        }
        let notify = "<n:Notify><n:NotificationMessage><n:Topic>a</n:Topic><n:Message><e/></n:Message></n:NotificationMessage>\
            <n:NotificationMessage><n:Message><e/></n:Message></n:NotificationMessage></n:Notify>";
        let Ok(Request::Notify(messages)) = read(notify) else {
            panic!("it is a Notify");
        };
        let topics: Vec<_> = messages.iter().map(|it| it.topic.as_deref()).collect();
        assert_eq!(topics, [Some("a"), None]);
    }

    #[test]
    fn what_is_not_served_is_a_fault_with_its_reason() {
        let subscribe = |content: &str| {
            format!(
                "<n:Subscribe><n:ConsumerReference><a:Address>http://x/</a:Address></n:ConsumerReference>{content}</n:Subscribe>"
            )
        };
        for (content, expected) in [
            ("<y/>".to_owned(), "expected Notify,"),
            ("<n:GetCurrentMessage/>".to_owned(), "the last event of a topic is not kept"),
            ("<n:PauseSubscription/>".to_owned(), "a subscription cannot be paused"),
            ("<n:Notify/>".to_owned(), "expected a NotificationMessage"),
            ("<n:Notify><n:NotificationMessage/></n:Notify>".to_owned(), "expected a Message"),
            ("<n:Notify><n:NotificationMessage><n:Message/></n:NotificationMessage></n:Notify>".to_owned(), "expected one element in the Message"),
            ("<n:Subscribe/>".to_owned(), "expected a ConsumerReference"),
            (subscribe("<n:Filter><n:MessageContent/></n:Filter>"), "expected one TopicExpression"),
            (subscribe("<n:Filter><n:TopicExpression Dialect='u'>a</n:TopicExpression></n:Filter>"), "expected the dialect"),
            (subscribe("<n:Filter><n:TopicExpression/></n:Filter>"), "expected the name of a topic"),
            (subscribe("<n:SubscriptionPolicy><n:UseRaw/></n:SubscriptionPolicy>"), "no policy is known"),
            (subscribe("<n:InitialTerminationTime>soon</n:InitialTerminationTime>"), "expected a date"),
            ("<n:Subscribe><n:ConsumerReference><a:ReferenceParameters><k/></a:ReferenceParameters></n:ConsumerReference></n:Subscribe>".to_owned(), "reference parameters"),
            ("<o:PullMessages><o:Timeout>5</o:Timeout></o:PullMessages>".to_owned(), "expected a duration"),
            ("<n:GetMessages><n:MaximumNumber>-1</n:MaximumNumber></n:GetMessages>".to_owned(), "expected the most messages"),
        ] {
            let reason = read(&content).expect_err(&content);
            assert!(reason.starts_with(expected), "{content}: {reason}");
        }
    }

    #[test]
    fn a_path_names_a_thing_only_by_a_whole_id() {
        let id = "0123456789abcdef0123456789abcdef".to_owned();
        assert_eq!(Resource::of_path("/"), Some(Resource::Broker));
        assert_eq!(Resource::of_path("/notify"), Some(Resource::Broker));
        for resource in [Resource::PullPoint(id.clone()), Resource::Subscription(id)] {
            assert_eq!(Resource::of_path(&resource.url("")), Some(resource));
        }
        assert_eq!(Resource::of_path("/pullpoints/1"), None);
        assert_eq!(Resource::of_path("/subscriptions/"), None);
    }
}
