//! Refusals, for the caller and for the audit log.

use std::fmt;

use serde::Serialize;

use crate::action::Action;
use crate::caller::Caller;
use crate::caller::Place;
use crate::rule::Called;
use crate::rules::Decided;
use crate::token::TokenError;

/// A refused action: the caller, the action, the topic and the reason. It contains no token and no password.
///
/// Callers choose some of its texts, such as the name of a topic that does not exist. Long ones are shortened, so that a
/// refusal is short in the audit log and as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The caller's name, or what else is known of it.
    pub who: String,
    /// Where the caller is.
    pub from: Place,
    /// The refused action.
    pub action: Action,
    /// The topic. Empty for the hub or the gateway as a whole, and for a call.
    pub topic: String,
    /// The identity of the object and the operation, if this was a call through a gateway.
    pub call: Option<(String, String)>,
    /// Why it was refused.
    pub reason: Reason,
}

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A rule refuses the action, or no rule allows it.
    Rules(Decided),
    /// The caller's token is invalid.
    Token(TokenError),
    /// The subscriber is at an address to which the hub must not connect for this caller.
    Address(String),
    /// The caller has as much of something as a limit allows. The text names the limit.
    Limit(String),
}

/// The text of the exception for a refusal begins with this.
pub const ACCESS_REFUSED: &str = "access refused: ";

impl Refusal {
    /// A refusal for this caller.
    pub fn of(caller: &Caller, action: Action, topic: &str, reason: Reason) -> Self {
        let reason = match reason {
            Reason::Address(proxy) => Reason::Address(shortened(&proxy)),
            reason => reason,
        };
        Self {
            who: shortened(&caller.to_string()),
            from: caller.place,
            action,
            topic: shortened(topic),
            call: None,
            reason,
        }
    }

    /// The refusal of a call through a gateway.
    pub fn of_call(caller: &Caller, called: &Called<'_>, reason: Reason) -> Self {
        Self {
            call: Some((shortened(called.identity), shortened(called.operation))),
            ..Self::of(caller, Action::Call, "", reason)
        }
    }

    /// One line of JSON, without a line end. `unix_ms` is the time, in milliseconds since 1970.
    pub fn to_json(&self, unix_ms: u64) -> String {
        let (rule, line) = match self.reason {
            Reason::Rules(Decided::Rule { index, line }) => (Some(index + 1), Some(line)),
            _ => (None, None),
        };
        let told = Line {
            unix_ms,
            event: "refused",
            who: &self.who,
            from: self.from.to_string(),
            action: self.action.name(),
            topic: &self.topic,
            object: self.call.as_ref().map(|(object, _)| object.as_str()),
            operation: self.call.as_ref().map(|(_, operation)| operation.as_str()),
            rule,
            line,
            reason: self.reason.to_string(),
        };
        serde_json::to_string(&told).expect("texts and numbers have a JSON form")
    }
}

#[derive(Serialize)]
struct Line<'a> {
    unix_ms: u64,
    event: &'a str,
    who: &'a str,
    from: String,
    action: &'a str,
    topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    rule: Option<usize>,
    line: Option<usize>,
    reason: String,
}

/// The text for the caller. It does not name the rule, which only the audit log contains.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, action, topic) = (&self.who, self.action, &self.topic);
        match &self.reason {
            Reason::Token(error) => write!(f, "{ACCESS_REFUSED}{error}"),
            Reason::Limit(limit) => write!(f, "{ACCESS_REFUSED}{limit}"),
            _ if action == Action::Login => {
                write!(f, "{ACCESS_REFUSED}{who} may not {action} (this gateway)")
            }
            _ if let Some((object, operation)) = &self.call => write!(
                f,
                "{ACCESS_REFUSED}{who} may not {action} {operation:?} (object {object:?})"
            ),
            _ if topic.is_empty() => {
                write!(f, "{ACCESS_REFUSED}{who} may not {action} (this hub)")
            }
            Reason::Rules(_) => write!(
                f,
                "{ACCESS_REFUSED}{who} may not {action} (topic {topic:?})"
            ),
            Reason::Address(_) => write!(
                f,
                "{ACCESS_REFUSED}{who} may not {action} (topic {topic:?}): {}",
                self.reason
            ),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(decided) => decided.fmt(f),
            Self::Token(error) => error.fmt(f),
            Self::Limit(limit) => f.write_str(limit),
            Self::Address(proxy) => write!(
                f,
                "the hub may not call {proxy}, which is not on the caller's host; \"callbacks\" of a rule names further networks"
            ),
        }
    }
}

/// The largest length of a text of a refusal, in bytes. Names of topics and users are shorter.
const TEXT_LEN_MAX: usize = 512;

/// A text, or its beginning and its length if it is long.
fn shortened(text: &str) -> String {
    if text.len() <= TEXT_LEN_MAX {
        return text.to_owned();
    }
    let start = &text[..text.floor_char_boundary(TEXT_LEN_MAX)];
    format!("{start}... ({} bytes)", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(reason: Reason) -> Refusal {
        let place = Place::At("::ffff:10.1.2.3".parse().expect("an address"));
        Refusal::of(&Caller::anonymous(place), Action::Publish, "a\"\n", reason)
    }

    #[test]
    fn the_audit_log_gets_one_line_with_the_rule() {
        let decided = Decided::Rule { index: 1, line: 14 };
        assert_eq!(
            refusal(Reason::Rules(decided)).to_json(7),
            r#"{"unix_ms":7,"event":"refused","who":"anonymous","from":"10.1.2.3","action":"publish","topic":"a\"\n","rule":2,"line":14,"reason":"rule 2 in line 14"}"#
        );
        let line = refusal(Reason::Token(TokenError::Expired)).to_json(7);
        assert!(
            line.contains(r#""rule":null,"line":null,"reason":"the token has expired""#),
            "{line}"
        );
        assert!(!line.contains('\n'));
    }

    #[test]
    fn long_texts_of_a_caller_make_no_long_lines() {
        let long = "\u{1}ü".repeat(300_000);
        let caller = Caller::anonymous(Place::Here);
        let called = Called {
            identity: &long,
            category: &long,
            adapter: None,
            operation: &long,
        };
        let refused = || Reason::Rules(Decided::NoRule);
        for refusal in [
            Refusal::of(&caller, Action::Create, &long, refused()),
            Refusal::of(
                &caller,
                Action::Subscribe,
                "t",
                Reason::Address(long.clone()),
            ),
            Refusal::of_call(&caller, &called, refused()),
        ] {
            let (line, answer) = (refusal.to_json(7), refusal.to_string());
            assert!(line.len() < 8_000 && answer.len() < 8_000, "{line:.200}");
            assert!(line.contains("... (900000 bytes)"), "{line:.200}");
        }
    }

    #[test]
    fn a_refused_call_names_its_object_and_operation() {
        let called = Called {
            identity: "c/\n",
            category: "c",
            adapter: None,
            operation: "op",
        };
        let caller = Caller::anonymous(Place::Here);
        let refusal = Refusal::of_call(&caller, &called, Reason::Rules(Decided::NoRule));
        let text = refusal.to_string();
        assert_eq!(
            text,
            r#"access refused: anonymous may not call "op" (object "c/\n")"#
        );
        let json = refusal.to_json(7);
        let part = r#""topic":"","object":"c/\n","operation":"op","rule":null"#;
        assert!(json.contains(part), "{json}");
        let login = Refusal::of(&caller, Action::Login, "", Reason::Rules(Decided::NoRule));
        let text = login.to_string();
        assert_eq!(
            text,
            "access refused: anonymous may not login (this gateway)"
        );
    }

    #[test]
    fn the_caller_is_told_what_and_not_which_rule() {
        let text = refusal(Reason::Rules(Decided::Rule { index: 1, line: 14 })).to_string();
        assert_eq!(
            text,
            r#"access refused: anonymous may not publish (topic "a\"\n")"#
        );
        let text = refusal(Reason::Token(TokenError::Expired)).to_string();
        assert_eq!(text, "access refused: the token has expired");
        let text = refusal(Reason::Address("x".to_owned())).to_string();
        assert!(
            text.contains("may not call x") && !text.contains('\n'),
            "{text}"
        );
    }
}
