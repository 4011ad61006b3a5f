//! Dispatchers: the types that join servants to an adapter, and how they answer requests.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use floe_wire::encoding::{Encode, Encoder, ExceptionFormat};
use floe_wire::message::SystemException;

use crate::dispatch::{DispatchSlot, Request, Requests, Response};
use crate::error::OperationError;

/// The result of a dispatch. The exception is boxed, so that a response is returned in registers.
pub type Answered = Result<Response, Box<SystemException>>;

/// A generated dispatcher: it answers one request at a time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a generated dispatcher",
    label = "expected a generated dispatcher, such as `StationDispatcher::new(servant)`",
    note = "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`"
)]
pub trait Answer: Send + Sync + 'static {
    /// Decodes the parameters, calls the servant, and encodes what it returned.
    fn answer(&self, request: Request) -> impl Future<Output = Answered> + Send;
}

/// Answers one request after another.
///
/// The loop is that of [`Requests::each`], but it borrows the dispatcher, so that no reference is counted for each
/// request.
#[inline]
pub fn dispatch<A: Answer>(dispatcher: Arc<A>, requests: Requests, slot: &mut DispatchSlot) {
    slot.run(async move {
        let Requests {
            front: mut request,
            mut rest,
            ..
        } = requests;
        loop {
            let response = {
                let answer = pin!(dispatcher.answer(request));
                match rest.lent_until_pending(answer).await {
                    Ok(response) => response,
                    Err(exception) => return Err(*exception),
                }
            };
            match rest.next(response) {
                Ok(next) => request = next,
                Err(response) => return Ok(response),
            }
        }
    });
}

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
