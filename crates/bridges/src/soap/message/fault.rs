//! Answers to what cannot be done, in the forms of SOAP 1.1 and 1.2.

use std::fmt::Write as _;

use super::Version;
use super::namespaces::{BASE_FAULTS, FLOE, WSNT};
use crate::soap::codec::text::escaped;

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    code: Code,
    /// In words.
    reason: String,
    detail: Detail,
}

/// At whom a fault points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Sender,
    Receiver,
    MustUnderstand,
    VersionMismatch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Detail {
    None,
    /// One of the faults of Base Notification, with the time.
    Notification(NotificationFault, String),
    /// The mistake in an event.
    Event {
        field: String,
        reason: String,
    },
}

/// The faults of Base Notification 1.3 that can come from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotificationFault {
    TopicExpressionDialectUnknown,
    InvalidTopicExpression,
    TopicNotSupported,
    InvalidFilter,
    UnacceptableInitialTerminationTime,
    UnacceptableTerminationTime,
    UnrecognizedPolicyRequest,
    SubscribeCreationFailed,
    UnableToCreatePullPoint,
    UnableToGetMessages,
    UnableToDestroySubscription,
    UnableToDestroyPullPoint,
    NoCurrentMessageOnTopic,
}

impl NotificationFault {
    /// The name of its element.
    fn element(self) -> &'static str {
        match self {
            Self::TopicExpressionDialectUnknown => "TopicExpressionDialectUnknownFault",
            Self::InvalidTopicExpression => "InvalidTopicExpressionFault",
            Self::TopicNotSupported => "TopicNotSupportedFault",
            Self::InvalidFilter => "InvalidFilterFault",
            Self::UnacceptableInitialTerminationTime => "UnacceptableInitialTerminationTimeFault",
            Self::UnacceptableTerminationTime => "UnacceptableTerminationTimeFault",
            Self::UnrecognizedPolicyRequest => "UnrecognizedPolicyRequestFault",
            Self::SubscribeCreationFailed => "SubscribeCreationFailedFault",
            Self::UnableToCreatePullPoint => "UnableToCreatePullPointFault",
            Self::UnableToGetMessages => "UnableToGetMessagesFault",
            Self::UnableToDestroySubscription => "UnableToDestroySubscriptionFault",
            Self::UnableToDestroyPullPoint => "UnableToDestroyPullPointFault",
            Self::NoCurrentMessageOnTopic => "NoCurrentMessageOnTopicFault",
        }
    }
}

impl Fault {
    /// The sender's message is wrong.
    pub(crate) fn sender(reason: impl Into<String>) -> Self {
        Self::new(Code::Sender, reason)
    }

    /// The message is right, and cannot be served now.
    pub(crate) fn receiver(reason: impl Into<String>) -> Self {
        Self::new(Code::Receiver, reason)
    }

    /// A header must be understood, and is not.
    pub(crate) fn must_understand(reason: impl Into<String>) -> Self {
        Self::new(Code::MustUnderstand, reason)
    }

    /// The envelope is of no version of SOAP that is served.
    pub(crate) fn version_mismatch(reason: impl Into<String>) -> Self {
        Self::new(Code::VersionMismatch, reason)
    }

    /// An event is not one of its topic: which field, and why.
    pub(crate) fn event(field: impl Into<String>, reason: impl Into<String>) -> Self {
        let (field, reason) = (field.into(), reason.into());
        Self {
            code: Code::Sender,
            reason: format!("{field}: {reason}"),
            detail: Detail::Event { field, reason },
        }
    }

    /// A fault of Base Notification. `now` is a time as text.
    pub(crate) fn notification(
        kind: NotificationFault,
        now: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            detail: Detail::Notification(kind, now.into()),
            ..Self::new(Code::Sender, reason)
        }
    }

    fn new(code: Code, reason: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            detail: Detail::None,
        }
    }

    /// The reason in words.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// The status of HTTP that goes with it.
    ///
    /// Source: SOAP 1.1, 6.2; SOAP 1.2 part 2, table 20.
    pub(crate) fn status(&self, version: Version) -> u16 {
        match (version, self.code) {
            (Version::Soap12, Code::Sender) => 400,
            _ => 500,
        }
    }

    /// The body of the envelope, in which `soap` is the prefix of SOAP.
    pub(crate) fn body(&self, version: Version) -> String {
        let reason = escaped(&self.reason);
        let detail = self.detail();
        match version {
            Version::Soap11 => {
                let code = match self.code {
                    Code::Sender => "Client",
                    Code::Receiver => "Server",
                    Code::MustUnderstand => "MustUnderstand",
                    Code::VersionMismatch => "VersionMismatch",
                };
                let detail = match detail.as_str() {
                    "" => String::new(),
                    detail => format!("<detail>{detail}</detail>"),
                };
                format!(
                    "<soap:Fault><faultcode>soap:{code}</faultcode><faultstring>{reason}</faultstring>{detail}</soap:Fault>"
                )
            }
            Version::Soap12 => {
                let code = match self.code {
                    Code::Sender => "Sender",
                    Code::Receiver => "Receiver",
                    Code::MustUnderstand => "MustUnderstand",
                    Code::VersionMismatch => "VersionMismatch",
                };
                let detail = match detail.as_str() {
                    "" => String::new(),
                    detail => format!("<soap:Detail>{detail}</soap:Detail>"),
                };
                format!(
                    "<soap:Fault><soap:Code><soap:Value>soap:{code}</soap:Value></soap:Code>\
                     <soap:Reason><soap:Text xml:lang=\"en\">{reason}</soap:Text></soap:Reason>{detail}</soap:Fault>"
                )
            }
        }
    }

    fn detail(&self) -> String {
        let mut out = String::new();
        // Nothing can go wrong with a text that grows.
        let _ = match &self.detail {
            Detail::None => Ok(()),
            Detail::Notification(kind, now) => write!(
                out,
                "<wsnt:{0} xmlns:wsnt=\"{WSNT}\" xmlns:bf=\"{BASE_FAULTS}\"><bf:Timestamp>{now}</bf:Timestamp>\
                 <bf:Description>{1}</bf:Description></wsnt:{0}>",
                kind.element(),
                escaped(&self.reason),
            ),
            Detail::Event { field, reason } => write!(
                out,
                "<floe:EventFault xmlns:floe=\"{FLOE}\"><floe:field>{}</floe:field><floe:reason>{}</floe:reason></floe:EventFault>",
                escaped(field),
                escaped(reason),
            ),
        };
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_the_form_of_its_version() {
        let fault = Fault::event("params.tick.side", "expected <buy>");
        assert_eq!(
            fault.body(Version::Soap11),
            "<soap:Fault><faultcode>soap:Client</faultcode><faultstring>params.tick.side: expected &lt;buy&gt;</faultstring>\
             <detail><floe:EventFault xmlns:floe=\"urn:floe:soap\"><floe:field>params.tick.side</floe:field>\
             <floe:reason>expected &lt;buy&gt;</floe:reason></floe:EventFault></detail></soap:Fault>"
        );
        let fault = Fault::receiver("away");
        assert_eq!(
            fault.body(Version::Soap12),
            "<soap:Fault><soap:Code><soap:Value>soap:Receiver</soap:Value></soap:Code><soap:Reason>\
             <soap:Text xml:lang=\"en\">away</soap:Text></soap:Reason></soap:Fault>"
        );
        assert_eq!(
            (fault.status(Version::Soap11), fault.status(Version::Soap12)),
            (500, 500)
        );
        let fault = Fault::notification(
            NotificationFault::InvalidFilter,
            "2026-11-28T20:00:00Z",
            "no",
        );
        assert!(fault.body(Version::Soap12).contains(
            "<soap:Detail><wsnt:InvalidFilterFault xmlns:wsnt=\"http://docs.oasis-open.org/wsn/b-2\" \
             xmlns:bf=\"http://docs.oasis-open.org/wsrf/bf-2\"><bf:Timestamp>2026-11-28T20:00:00Z</bf:Timestamp>"
        ));
        assert_eq!(fault.status(Version::Soap12), 400);
    }
}
