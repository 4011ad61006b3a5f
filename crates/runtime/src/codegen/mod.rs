//! Building blocks of generated code: the parts that are the same for every contract.
//!
//! `floe-codegen` writes the types, the signatures and the documentation of a contract, and refers to
//! this module for the rest. Only generated code uses these names; they may change with every
//! version, together with the generator.
//!
//! - `structure.rs`, `enumeration.rs`: encoding and decoding of structures and enumerations
//! - `exception.rs`: text and slices of user exceptions; `errors.rs`: the error enums of operations
//! - `proxy.rs`: makes a struct a typed proxy; how its methods call
//! - `servant.rs`: the trait that servants implement, also without async
//! - `dispatcher.rs`: the type that joins a servant to an adapter, and its loop over requests
//! - `typed_event.rs`: the trait of the enums that stand for events
//!
//! A macro is used only where a trait is implemented for a type of the contract, or where methods repeat. Functions do
//! the rest. See `docs/adr/0047-generated-code-calls-shared-code.md`.

mod dispatcher;
mod enumeration;
mod errors;
mod exception;
mod proxy;
mod servant;
mod structure;
mod typed_event;

pub use crate::call::Parameters;
pub use crate::proxy::OperationInfo;
pub use dispatcher::{Answer, Answered, builtin, dispatch, put_one, reply, reply_compact};
pub use enumeration::enumerator_max;
pub use exception::write_exception;
pub use proxy::{
    Joined, NilableParameter, Optional, OptionalProxy, Values, WithInstances, all, call,
    idempotent, nonmutating, nothing, one, operation,
};
pub use servant::Servant;
pub use structure::{min_wire_len, packed_member_len};
pub use typed_event::TypedEvent;

pub use crate::__defaults as defaults;
pub use crate::__dispatcher as dispatcher;
pub use crate::__enumeration as enumeration;
pub use crate::__errors as errors;
pub use crate::__exception as exception;
pub use crate::__proxy as proxy;
pub use crate::__servant as servant;
pub use crate::__structure as structure;

pub use floe_wire::encoding::{EnumWidth, Nilable, packed_len};
