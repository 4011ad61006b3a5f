//! The cases of the scenario `gateway`, taken apart.

use crate::contender::{Failure, calls};

/// A case of the scenario `gateway`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Calls as in the scenario `rpc`, in one session.
    Calls(calls::case::Case),
    /// So many sessions, each of which makes a call.
    Sessions(u64),
}

impl Case {
    /// Parses the name of a case.
    ///
    /// # Errors
    /// There is no such case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "twoway" | "ami-1000" | "oneway" => calls::case::Case::parse(name).map(Self::Calls),
            "sessions-1000" => Ok(Self::Sessions(1_000)),
            _ => Err(
                format!("expected twoway, ami-1000, oneway or sessions-1000, got \"{name}\"")
                    .into(),
            ),
        }
    }

    /// How many sessions are there when the client has measured, if their memory counts.
    pub(crate) fn sessions(self) -> Option<u64> {
        match self {
            Self::Calls(_) => None,
            Self::Sessions(count) => Some(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_does_not_exist_is_shown() {
        let sessions = Case::parse("sessions-1000").unwrap();
        assert_eq!(sessions.sessions(), Some(1_000));
        assert_eq!(Case::parse("oneway").unwrap().sessions(), None);
        for name in ["oneway-unix", "echo-1000", "sessions-"] {
            let error = Case::parse(name).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
