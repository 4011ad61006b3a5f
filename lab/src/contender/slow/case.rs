//! The cases of the scenario `slow`, taken apart.

use crate::contender::Failure;
use crate::slow_line::{LineQuality, MODEM, RADIO};

/// A case of the scenario `slow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) work: Work,
    pub(crate) line: LineQuality,
}

/// The values that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A document, in the first message or in later ones.
    Document { document: Document, turn: Turn },
    /// Events from back ends to a client, through a gateway.
    Ticks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    Text,
    Bibliography,
}

/// When a document is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Once, on a connection that has carried no document.
    First,
    /// Several times, after it was sent once.
    Again,
    /// The same, with another change in one entry each time.
    Edited,
}

impl Case {
    /// Takes a name apart.
    ///
    /// # Errors
    /// There is no such case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let case = || {
            let (work, line) = name.split_once('/')?;
            let line = match line {
                "56k" => MODEM,
                "1m" => RADIO,
                _ => return None,
            };
            let document = |document, turn| Work::Document { document, turn };
            let work = match work {
                "text" => document(Document::Text, Turn::First),
                "text-again" => document(Document::Text, Turn::Again),
                "bibliography" => document(Document::Bibliography, Turn::First),
                "bibliography-again" => document(Document::Bibliography, Turn::Again),
                "bibliography-edited" => document(Document::Bibliography, Turn::Edited),
                "ticks" => Work::Ticks,
                _ => return None,
            };
            Some(Self { work, line })
        };
        case().ok_or_else(|| format!("expected a case such as text/56k, got \"{name}\"").into())
    }
}

impl Turn {
    /// How often a document is sent before it is measured, and how often then.
    pub(crate) fn counts(self) -> (usize, usize) {
        match self {
            Self::First => (0, 1),
            Self::Again | Self::Edited => (1, 4),
        }
    }
}

/// Events of a round.
pub(crate) const TICKS: usize = 1_000;

/// Why a contender that sends documents does not offer a case.
pub(crate) fn documents_only(name: &str) -> Option<&'static str> {
    match Case::parse(name) {
        Ok(Case {
            work: Work::Document { .. },
            ..
        }) => None,
        Ok(_) => Some("events are sent through a gateway: see floe-gateway and glacier2"),
        Err(_) => Some("the scenario has no such case"),
    }
}

/// Why a contender that forwards events does not offer a case.
pub(crate) fn events_only(name: &str) -> Option<&'static str> {
    match Case::parse(name) {
        Ok(Case {
            work: Work::Ticks, ..
        }) => None,
        Ok(_) => Some("documents are sent without a gateway"),
        Err(_) => Some("the scenario has no such case"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_does_not_exist_is_shown() {
        let case = Case::parse("bibliography-edited/1m").unwrap();
        let turn = Turn::Edited;
        let document = Document::Bibliography;
        assert_eq!(case.work, Work::Document { document, turn });
        assert_eq!(case.line, RADIO);
        for name in ["text", "text/57k", "words/56k", "text-edited/56k"] {
            let error = Case::parse(name).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
