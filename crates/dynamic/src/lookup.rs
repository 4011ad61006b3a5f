//! Errors of looking something up in a contract by its name.

use std::fmt;

use crate::Unsupported;
use crate::wording::{join, suggest};

/// A name that a contract cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// No type has this name.
    NoSuchType {
        /// The name that was asked for.
        name: String,
        /// The types that there are, beside the built-in ones.
        types: Vec<String>,
    },
    /// No interface has this name.
    NoSuchInterface {
        /// The name that was asked for.
        name: String,
        /// The interfaces that there are.
        interfaces: Vec<String>,
    },
    /// None of the interfaces in question has this operation.
    NoSuchOperation {
        /// The name that was asked for.
        name: String,
        /// The interfaces of the object, as far as the Slice files have them; empty if any would
        /// have done.
        interfaces: Vec<String>,
        /// The operations that there are.
        operations: Vec<String>,
    },
    /// Several interfaces declare an operation of this name.
    Ambiguous {
        /// The name that was asked for.
        name: String,
        /// The interfaces that declare it.
        interfaces: Vec<String>,
    },
    /// The thing was found, and has a type that is not supported.
    Unsupported(Unsupported),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchType { name, types } => {
                write!(f, "no type {name} in the Slice files")?;
                alternatives(f, name, types)
            }
            Self::NoSuchInterface { name, interfaces } => {
                write!(f, "no interface {name} in the Slice files")?;
                alternatives(f, name, interfaces)
            }
            Self::NoSuchOperation {
                name,
                interfaces,
                operations,
            } => {
                match interfaces.as_slice() {
                    [] if operations.is_empty() => {
                        return write!(
                            f,
                            "no operation `{name}`: no Slice file with operations was given"
                        );
                    }
                    [] => write!(f, "no operation `{name}` in the Slice files")?,
                    [interface] => write!(f, "{interface} has no operation `{name}`")?,
                    several => write!(f, "none of {} has an operation `{name}`", join(several))?,
                }
                alternatives(f, name, operations)
            }
            Self::Ambiguous { name, interfaces } => write!(
                f,
                "several interfaces have an operation {name}: {}; say which one you mean, for example {}::{name}",
                join(interfaces),
                interfaces.first().map_or("::M::I", String::as_str),
            ),
            Self::Unsupported(unsupported) => unsupported.fmt(f),
        }
    }
}

impl std::error::Error for LookupError {}

impl From<Unsupported> for LookupError {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

/// Writes the names that exist instead.
fn alternatives(f: &mut fmt::Formatter<'_>, name: &str, all: &[String]) -> fmt::Result {
    if let Some(suggestion) = suggest(name, all.iter().map(String::as_str)) {
        return write!(f, "; did you mean `{suggestion}`?");
    }
    match all {
        [] => Ok(()),
        all => write!(f, "; there is {}", join(all)),
    }
}
