//! Dispatchers: the types that join servants to an adapter.

use floe_wire::encoding::{Encode, Encoder, ExceptionFormat};
use floe_wire::message::SystemException;

use crate::dispatch::{Request, Response};
use crate::error::OperationError;

/// The result of a dispatch. The exception is boxed, so that a response is returned in registers.
pub type Answered = Result<Response, Box<SystemException>>;

/// Writes one result.
#[inline]
pub fn put_one<T: Encode>(result: &T, encoder: &mut Encoder<'_>) {
    encoder.put(result);
}

/// Makes the response for what a servant returned; exceptions use the sliced format.
///
/// # Errors
/// See [`Request::reply`].
#[inline]
pub fn reply<T, E: OperationError>(
    request: Request,
    result: Result<T, E>,
    encode: impl FnOnce(&T, &mut Encoder<'_>),
) -> Answered {
    Ok(request.reply(result, ExceptionFormat::Sliced, encode)?)
}

/// Makes the response for what a servant returned; exceptions use the compact format.
///
/// # Errors
/// See [`Request::reply`].
#[inline]
pub fn reply_compact<T, E: OperationError>(
    request: Request,
    result: Result<T, E>,
    encode: impl FnOnce(&T, &mut Encoder<'_>),
) -> Answered {
    Ok(request.reply(result, ExceptionFormat::Compact, encode)?)
}

/// Answers the operations that every object has.
///
/// # Errors
/// See [`Request::builtin`].
pub fn builtin(request: Request, type_id: &str, type_ids: &[&str]) -> Answered {
    Ok(request.builtin(type_id, type_ids)?)
}

/// Declares the dispatcher to a servant; generated code implements [`Answer`](super::Answer) for it.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatcher {
    ($(#[$about:meta])* pub struct $name:ident<$servant:ident: $interface:path>;) => {
        $(#[$about])*
        #[derive(Debug, Clone)]
        pub struct $name<$servant> {
            servant: $servant,
        }

        impl<$servant: $interface> $name<$servant> {
            /// A dispatcher to this servant.
            pub fn new(servant: $servant) -> Self {
                Self { servant }
            }

            /// The servant.
            pub fn servant(&self) -> &$servant {
                &self.servant
            }
        }

        impl<$servant: $interface> $crate::Dispatcher for $name<$servant> {
            fn dispatch(
                self: ::std::sync::Arc<Self>,
                requests: $crate::dispatch::Requests,
                slot: &mut $crate::dispatch::DispatchSlot,
            ) {
                $crate::codegen::dispatch(self, requests, slot);
            }
        }
    };
}
