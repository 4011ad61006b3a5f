//! The exceptions that every operation may raise, without saying so in IDL.
//!
//! ```text
//! | string repository id | ulong minor code | ulong completion |
//! ```
//!
//! Source: CORBA 3.0.3, 4.12.3 "Standard Exceptions", and 15.4.3.2.

use std::fmt;

use crate::cdr::{DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder};

/// The vendor part of the minor codes that the specification defines; they are this and a small number.
pub const OMG_MINOR: u32 = 0x4f4d_0000;

/// A system exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemException {
    /// Its kind.
    pub kind: SystemExceptionKind,
    /// A number that says more. The upper 20 bits name the vendor who defines it.
    pub minor: u32,
    /// Says if the operation was executed.
    pub completed: Completion,
}

/// Says if an operation was executed before the exception was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// It was.
    Yes,
    /// It was not, so it may be tried again.
    No,
    /// This is not known.
    Maybe,
}

/// The kinds, in a table: the name in Rust, in IDL, and the meaning.
macro_rules! kinds {
    ($($name:ident $idl:literal $meaning:literal,)*) => {
        /// A kind of system exception.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum SystemExceptionKind {
            $(#[doc = $meaning] $name,)*
        }

        impl SystemExceptionKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in IDL, such as `OBJECT_NOT_EXIST`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $idl,)*
                }
            }

            /// The repository id, such as `IDL:omg.org/CORBA/OBJECT_NOT_EXIST:1.0`.
            pub fn repository_id(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("IDL:omg.org/CORBA/", $idl, ":1.0"),)*
                }
            }
        }
    };
}

kinds! {
    Unknown "UNKNOWN" "The servant raised something that the contract does not have.",
    BadParam "BAD_PARAM" "An invalid argument.",
    NoMemory "NO_MEMORY" "No memory is left.",
    ImpLimit "IMP_LIMIT" "A limit of the ORB was reached.",
    CommFailure "COMM_FAILURE" "The connection was lost after the request was sent.",
    InvObjref "INV_OBJREF" "An invalid object reference.",
    NoPermission "NO_PERMISSION" "The caller may not do this.",
    Internal "INTERNAL" "An error within the ORB.",
    Marshal "MARSHAL" "Arguments or results cannot be encoded or decoded.",
    Initialize "INITIALIZE" "The ORB cannot be initialised.",
    NoImplement "NO_IMPLEMENT" "The operation is declared and not implemented.",
    BadTypeCode "BAD_TYPECODE" "An invalid TypeCode.",
    BadOperation "BAD_OPERATION" "The object has no such operation.",
    NoResources "NO_RESOURCES" "There are not enough resources for the request.",
    NoResponse "NO_RESPONSE" "The response is not available yet.",
    PersistStore "PERSIST_STORE" "A store failed.",
    BadInvOrder "BAD_INV_ORDER" "Operations were called in a wrong order.",
    Transient "TRANSIENT" "The object cannot be reached at the moment; try again.",
    FreeMem "FREE_MEM" "Memory cannot be freed.",
    InvIdent "INV_IDENT" "An invalid identifier of IDL.",
    InvFlag "INV_FLAG" "An invalid flag.",
    IntfRepos "INTF_REPOS" "The interface repository failed.",
    BadContext "BAD_CONTEXT" "An error of context objects.",
    ObjAdapter "OBJ_ADAPTER" "The object adapter failed.",
    DataConversion "DATA_CONVERSION" "A character cannot be converted to the code set of the peer.",
    ObjectNotExist "OBJECT_NOT_EXIST" "There is no such object, and there will not be again.",
    TransactionRequired "TRANSACTION_REQUIRED" "The operation needs a transaction.",
    TransactionRolledback "TRANSACTION_ROLLEDBACK" "The transaction was rolled back.",
    InvalidTransaction "INVALID_TRANSACTION" "The request carries an invalid transaction.",
    InvPolicy "INV_POLICY" "Policies do not agree.",
    CodesetIncompatible "CODESET_INCOMPATIBLE" "Client and server have no common code set.",
    Rebind "REBIND" "The reference must be bound again, which its policy forbids.",
    Timeout "TIMEOUT" "The time for the request is over.",
    TransactionUnavailable "TRANSACTION_UNAVAILABLE" "The transaction service is not available.",
    TransactionMode "TRANSACTION_MODE" "The transaction mode does not match.",
    BadQos "BAD_QOS" "The quality of service is not available.",
    InvalidActivity "INVALID_ACTIVITY" "The request carries an invalid activity.",
    ActivityCompleted "ACTIVITY_COMPLETED" "The activity is completed.",
    ActivityRequired "ACTIVITY_REQUIRED" "The operation needs an activity.",
}

impl SystemExceptionKind {
    /// The kind with this repository id.
    pub fn from_repository_id(id: &str) -> Option<Self> {
        let mut kinds = Self::ALL.iter().copied();
        kinds.find(|kind| kind.repository_id() == id)
    }
}

impl SystemException {
    /// An exception of an operation that was not executed, without a minor code.
    pub fn not_executed(kind: SystemExceptionKind) -> Self {
        Self {
            kind,
            minor: 0,
            completed: Completion::No,
        }
    }

    /// Reads an exception. One that is not known here is [`SystemExceptionKind::Unknown`], as the specification says.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let id = decoder.name("repository id of a system exception")?;
        let minor = decoder.ulong("minor code")?;
        let here = decoder.clone();
        let completed = match decoder.ulong("completion status")? {
            0 => Completion::Yes,
            1 => Completion::No,
            2 => Completion::Maybe,
            other => {
                let kind = DecodeErrorKind::InvalidValue(other.into());
                return Err(here.error("completion status", kind));
            }
        };
        let kind = SystemExceptionKind::from_repository_id(&id);
        Ok(Self {
            kind: kind.unwrap_or(SystemExceptionKind::Unknown),
            minor,
            completed,
        })
    }

    /// Appends the exception.
    ///
    /// # Errors
    /// None that can occur: its parts have fixed lengths.
    pub fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.name(self.kind.repository_id())?;
        encoder.ulong(self.minor);
        encoder.ulong(match self.completed {
            Completion::Yes => 0,
            Completion::No => 1,
            Completion::Maybe => 2,
        });
        Ok(())
    }
}

impl fmt::Display for SystemException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let completed = match self.completed {
            Completion::Yes => "the operation was executed",
            Completion::No => "the operation was not executed",
            Completion::Maybe => "the operation was perhaps executed",
        };
        write!(
            f,
            "{} (minor code {:#x}): {completed}",
            self.kind.name(),
            self.minor
        )
    }
}

impl std::error::Error for SystemException {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdr::{Endian, Format};

    #[test]
    fn each_kind_survives_its_repository_id() {
        for kind in SystemExceptionKind::ALL {
            let id = kind.repository_id();
            assert_eq!(SystemExceptionKind::from_repository_id(id), Some(*kind));
        }
        assert_eq!(SystemExceptionKind::ALL.len(), 39);
    }

    #[test]
    fn an_exception_of_a_later_corba_is_unknown() {
        let format = Format::utf8(Endian::Big);
        let mut encoder = Encoder::new(format);
        encoder
            .name("IDL:omg.org/CORBA/NEWER:1.0")
            .expect("it is short");
        encoder.ulong(7);
        encoder.ulong(2);
        let bytes = encoder.into_bytes();
        let exception = SystemException::decode(&mut Decoder::new(&bytes, format));
        let exception = exception.expect("it is one");
        assert_eq!(
            exception.to_string(),
            "UNKNOWN (minor code 0x7): the operation was perhaps executed"
        );
    }
}
