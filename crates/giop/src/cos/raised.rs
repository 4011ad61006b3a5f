//! The way in which an operation fails.

use std::fmt;

use crate::any::Value;
use crate::cdr::{DecodeError, EncodeError, Encoder};
use crate::system_exception::{Completion, SystemException, SystemExceptionKind};
use crate::type_code::{Member, StructType, TypeCode, TypeName};

/// An exception that an operation raises.
#[derive(Debug, Clone, PartialEq)]
pub enum Raised {
    /// One of the contract: its TypeCode, and its members as a struct.
    User(Box<(TypeCode, Value)>),
    /// One that every operation may raise.
    System(SystemException),
}

impl Raised {
    /// An exception of a contract.
    pub fn user(scope: &str, name: &str, members: Vec<(Member, Value)>) -> Self {
        let (members, values) = members.into_iter().unzip();
        let name = TypeName::scoped(scope, name);
        let code = TypeCode::Except(StructType { name, members });
        Self::User(Box::new((code, Value::Struct(values))))
    }

    /// A system exception of an operation that was not executed.
    pub fn system(kind: SystemExceptionKind) -> Self {
        Self::System(SystemException::not_executed(kind))
    }

    /// Appends a user exception, as [`reply_user_exception`](crate::connection::Connection::reply_user_exception) wants
    /// it.
    ///
    /// # Errors
    /// [`EncodeError`] if the connection's code set does not have a text in it.
    pub fn encode_user(exception: &(TypeCode, Value), to: &mut Encoder) -> Result<(), EncodeError> {
        exception.1.encode(&exception.0, to)
    }
}

/// Arguments that cannot be read: MARSHAL.
impl From<DecodeError> for Raised {
    fn from(_: DecodeError) -> Self {
        Self::system(SystemExceptionKind::Marshal)
    }
}

/// Results that cannot be written: MARSHAL, after the operation was executed.
impl From<EncodeError> for Raised {
    fn from(_: EncodeError) -> Self {
        Self::System(SystemException {
            completed: Completion::Yes,
            ..SystemException::not_executed(SystemExceptionKind::Marshal)
        })
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(exception) => {
                f.write_str(exception.0.name().map_or("", |name| name.id.as_str()))
            }
            Self::System(exception) => exception.fmt(f),
        }
    }
}

impl std::error::Error for Raised {}
