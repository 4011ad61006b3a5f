//! The future of a typed call.
//!
//! Most messages without an answer need no more than to be appended to others. That is tried at the first
//! poll by a straight function, and only what cannot be done so becomes an invocation that may have to wait. A thread
//! that waits for one call alone asks it first: a twoway call is then made by another such function, which reads the
//! reply.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use floe_wire::encoding::{DecodeError, Decoder, Encoder};
use pin_project_lite::pin_project;

use super::at_once::ShortWay;
use super::call::decode_nothing;
use super::{OperationInfo, Proxy};
use crate::adapter::OperationError;
use crate::blocking::is_asked;
use crate::connection::{Failure, Received, Short};

pin_project! {
    /// A call that is being made; nothing happens before it is polled.
    pub(super) struct Calling<'a, Encode, Decode, Make, Made> {
        proxy: &'a Proxy,
        operation: &'static OperationInfo,
        // How parameters are written and results are read; there until the first poll.
        codec: Option<(Encode, Decode)>,
        // How a first attempt failed that was made already.
        failed: Option<Box<Failure>>,
        make: Make,
        // What takes longer than the first poll.
        #[pin]
        made: Option<Made>,
    }
}

impl<'a, Encode, Decode, Make, Made> Calling<'a, Encode, Decode, Make, Made> {
    /// One that `make` makes, unless it is done without.
    #[inline]
    pub(super) fn new(
        proxy: &'a Proxy,
        operation: &'static OperationInfo,
        encode: Encode,
        decode: Decode,
        make: Make,
    ) -> Self {
        Self {
            proxy,
            operation,
            codec: Some((encode, decode)),
            failed: None,
            make,
            made: None,
        }
    }
}

impl<'a, R, E, Encode, Decode, Make, Made> Future for Calling<'a, Encode, Decode, Make, Made>
where
    E: OperationError,
    Encode: Fn(&mut Encoder<'_>),
    Decode: FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    Make: Fn(&'a Proxy, &'static OperationInfo, Encode, Decode, Option<Box<Failure>>) -> Made,
    Made: Future<Output = Result<R, E>>,
{
    type Output = Result<R, E>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R, E>> {
        // Before anything that may poll another one.
        let is_asked = is_asked();
        match self.proxy.short_way() {
            ShortWay::Oneway | ShortWay::Batch => {
                if let Some(decode) = self.as_mut().shortly() {
                    return Poll::Ready(decode_nothing(decode));
                }
            }
            ShortWay::Twoway if is_asked => return self.ask(),
            ShortWay::Twoway | ShortWay::No => {}
        }
        match is_asked {
            true => Poll::Pending,
            false => self.poll_made(context),
        }
    }
}

impl<R, E, Encode, Decode, Make, Made> Calling<'_, Encode, Decode, Make, Made>
where
    E: OperationError,
    Encode: Fn(&mut Encoder<'_>),
    Decode: FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    Made: Future<Output = Result<R, E>>,
{
    /// Makes the call on this thread, which waits for nothing else, and waits for its reply, if nothing else has to be
    /// waited for; if not, it is polled again.
    #[inline(never)]
    fn ask(self: Pin<&mut Self>) -> Poll<Made::Output> {
        let this = self.project();
        let Some((encode, _)) = this.codec.as_ref().filter(|_| this.failed.is_none()) else {
            return Poll::Pending;
        };
        let mut short = Short::new();
        match this.proxy.ask(this.operation, encode, &mut short) {
            Ok(Some(received)) => match this.codec.take() {
                Some((_, decode)) => Poll::Ready(match received {
                    Received::Short => this.proxy.open_short(this.operation, &short, decode),
                    Received::Whole(reply) => this.proxy.open_reply(this.operation, reply, decode),
                }),
                None => Poll::Pending,
            },
            Ok(None) => Poll::Pending,
            Err(failure) => {
                *this.failed = Some(failure);
                Poll::Pending
            }
        }
    }
}

impl<Encode, Decode, Make, Made> Calling<'_, Encode, Decode, Make, Made>
where
    Encode: Fn(&mut Encoder<'_>),
{
    /// Makes the call if it is not yet made and nothing has to be waited for; then how its results are read.
    #[inline(never)]
    fn shortly(self: Pin<&mut Self>) -> Option<Decode> {
        let this = self.project();
        let (encode, _) = this.codec.as_ref().filter(|_| this.failed.is_none())?;
        match this.proxy.is_done_shortly(this.operation, encode) {
            Ok(true) => this.codec.take().map(|(_, decode)| decode),
            Ok(false) => None,
            Err(failure) => {
                *this.failed = Some(failure);
                None
            }
        }
    }
}

impl<'a, Encode, Decode, Make, Made> Calling<'a, Encode, Decode, Make, Made>
where
    Make: Fn(&'a Proxy, &'static OperationInfo, Encode, Decode, Option<Box<Failure>>) -> Made,
    Made: Future,
{
    /// Goes on with what is not done at the first poll, or has failed then. It stands apart, so that what is
    /// done then needs none of its room.
    #[inline(never)]
    fn poll_made(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Made::Output> {
        let mut this = self.project();
        if let Some((encode, decode)) = this.codec.take() {
            let failed = this.failed.take();
            let made = (this.make)(this.proxy, this.operation, encode, decode, failed);
            this.made.set(Some(made));
        }
        let made = this.made.as_pin_mut();
        let made = made.expect("a call that is done is polled no more");
        made.poll(context)
    }
}

/// Whether this is the type of a call, which does nothing when it is only asked whether it can be done at once.
///
/// Types that borrow can be told apart by their names alone. Those are promised by nobody, and so decide nothing
/// but how fast a thread waits.
#[inline(always)]
pub(crate) fn is_call<F>() -> bool {
    std::any::type_name::<F>().starts_with(concat!(module_path!(), "::Calling<"))
}

#[cfg(test)]
mod tests {
    use floe_wire::message::OperationMode;

    use super::*;
    use crate::communicator::Communicator;
    use crate::error::InvokeError;

    fn is_one<F: Future>(_: &F) -> bool {
        is_call::<F>()
    }

    #[test]
    fn a_call_is_told_from_other_futures() {
        const OPERATION: OperationInfo = OperationInfo {
            name: "op",
            mode: OperationMode::Normal,
            returns_data: false,
        };
        let proxy: Proxy = Communicator::new().proxy("o").expect("a proxy");
        let number = 7;
        let call = || {
            proxy.call::<(), InvokeError>(&OPERATION, |encoder| encoder.put(&number), |_| Ok(()))
        };
        assert!(is_one(&call()));
        assert!(!is_one(&Box::pin(call())));
        assert!(!is_one(&async { call().await }));
        assert!(!is_one(&proxy.connect()));
    }
}
