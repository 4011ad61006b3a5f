//! SASL: who a peer is, before the connection is opened.
//!
//! A server offers mechanisms, the client chooses one and says who it is, and the server tells the outcome. ANONYMOUS and
//! PLAIN are here, which need one message each. The check of a password is the program's.
//!
//! Source: OASIS AMQP 1.0, part 5; RFC 4505, RFC 4616.

use std::fmt;

use bytes::Bytes;

use crate::codec::{
    CodecError, CodecErrorKind, Composite, Descriptor, Field, Reader, Symbol, Writer, composite,
};

composite! {
    /// The mechanisms that a server offers.
    Mechanisms = 0x40 "amqp:sasl-mechanisms:list" {
        /// Their names, one or more.
        sasl_server_mechanisms: Vec<Symbol>,
    }
}

composite! {
    /// The mechanism that the client chooses.
    Init = 0x41 "amqp:sasl-init:list" {
        /// Its name.
        mechanism: Symbol,
        /// The first message of the mechanism.
        initial_response: Option<Bytes>,
        /// The host that the client means.
        hostname: Option<String>,
    }
}

composite! {
    /// How it ended.
    SaslOutcome = 0x44 "amqp:sasl-outcome:list" {
        /// 0 if the client is who it says, 1 if not.
        code: u8,
        /// A last message of the mechanism.
        additional_data: Option<Bytes>,
    }
}

/// A frame of SASL.
#[derive(Debug, Clone, PartialEq)]
pub enum SaslFrame {
    /// The mechanisms that a server offers.
    Mechanisms(Mechanisms),
    /// The mechanism that the client chooses.
    Init(Init),
    /// How it ended.
    Outcome(SaslOutcome),
}

impl SaslFrame {
    /// Reads the body of a frame.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        const READING: &str = "a frame of SASL";
        let (code, name) = match reader.clone().descriptor(READING)? {
            Descriptor::Code(code) => (code, ""),
            Descriptor::Name(name) => (u64::MAX, name),
        };
        if code == Mechanisms::CODE || name == Mechanisms::NAME {
            Mechanisms::decode(reader, READING).map(Self::Mechanisms)
        } else if code == Init::CODE || name == Init::NAME {
            Init::decode(reader, READING).map(Self::Init)
        } else if code == SaslOutcome::CODE || name == SaslOutcome::NAME {
            SaslOutcome::decode(reader, READING).map(Self::Outcome)
        } else {
            Err(reader.error(READING, CodecErrorKind::UnknownDescriptor))
        }
    }

    /// Writes it.
    pub fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Mechanisms(mechanisms) => mechanisms.encode(writer),
            Self::Init(init) => init.encode(writer),
            Self::Outcome(outcome) => outcome.encode(writer),
        }
    }
}

/// A way to say who one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Nobody in particular.
    Anonymous,
    /// A name and a password.
    Plain,
}

impl Mechanism {
    /// Its name.
    pub fn name(self) -> Symbol {
        match self {
            Self::Anonymous => Symbol::new("ANONYMOUS"),
            Self::Plain => Symbol::new("PLAIN"),
        }
    }
}

/// The identity that a client claims.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// It began without SASL.
    None,
    /// It names nobody.
    Anonymous,
    /// It names itself and shows a password.
    Plain {
        /// The user for whom it acts; mostly empty, which means itself.
        authorization: String,
        /// Its name.
        user: String,
        /// The password.
        password: String,
    },
}

/// Without the password.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Anonymous => f.write_str("Anonymous"),
            Self::Plain {
                authorization,
                user,
                ..
            } => f
                .debug_struct("Plain")
                .field("authorization", authorization)
                .field("user", user)
                .finish_non_exhaustive(),
        }
    }
}

impl Credentials {
    /// Those of a client's choice; `None` if they make no sense.
    pub(crate) fn of(mechanism: Mechanism, response: &[u8]) -> Option<Self> {
        match mechanism {
            Mechanism::Anonymous => Some(Self::Anonymous),
            Mechanism::Plain => {
                let mut parts = response.split(|byte| *byte == 0);
                let mut text = || String::from_utf8(parts.next()?.to_vec()).ok();
                let (authorization, user, password) = (text()?, text()?, text()?);
                let is_whole = parts.next().is_none() && !user.is_empty();
                is_whole.then_some(Self::Plain {
                    authorization,
                    user,
                    password,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_has_three_texts() {
        let read = |response: &[u8]| Credentials::of(Mechanism::Plain, response);
        let plain = |authorization: &str| Credentials::Plain {
            authorization: authorization.to_owned(),
            user: "ann".to_owned(),
            password: "tulip".to_owned(),
        };
        assert_eq!(read(b"\0ann\0tulip"), Some(plain("")));
        assert_eq!(read(b"bob\0ann\0tulip"), Some(plain("bob")));
        for wrong in [
            &b""[..],
            b"ann",
            b"\0ann",
            b"\0\0tulip",
            b"\0ann\0tulip\0",
            b"\0\xFF\0tulip",
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let shown = format!("{:?}", Credentials::of(Mechanism::Plain, b"\0ann\0tulip"));
        assert!(shown.contains("ann") && !shown.contains("tulip"), "{shown}");
    }
}
