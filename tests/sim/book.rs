//! The judge of a run: it records the requests, the dispatches, and the outcomes that callers got.

use std::time::Duration;

use floe_wire::connection::{AttemptEnd, Retries};
use floe_wire::message::RequestId;

/// How a call is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With a reply.
    Twoway,
    /// Without one.
    Oneway,
    /// So many requests without a reply, in one message.
    Batch(usize),
}

/// The outcome that a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// The reply has come.
    Returned,
    /// It is on its way, and there will be no reply.
    Sent,
    /// It was surely not dispatched.
    NotDispatched(AttemptEnd),
    /// It was perhaps dispatched.
    PerhapsDispatched(AttemptEnd),
}

/// One call of a caller.
#[derive(Debug)]
pub(crate) struct Call {
    /// The side of the caller.
    pub(crate) side: usize,
    pub(crate) kind: Kind,
    pub(crate) is_idempotent: bool,
    pub(crate) parameters_len: usize,
    pub(crate) deadline: Option<Duration>,
    /// The connection that it must use: that of a server's call.
    pub(crate) bound_to: Option<usize>,
    pub(crate) retries: Retries<'static>,
    /// Where its request is in flight.
    pub(crate) in_flight: Option<(usize, RequestId)>,
    pub(crate) attempt_count: usize,
    dispatch_count: usize,
    pub(crate) told: Option<Told>,
}

/// All calls; the position is the call's number.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) calls: Vec<Call>,
    pub(crate) open_count: usize,
}

impl Book {
    /// Notes a call that will be made.
    pub(crate) fn add(&mut self, call: Call) -> usize {
        self.open_count += 1;
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// A servant was given a request of this call.
    pub(crate) fn dispatched(&mut self, number: usize) {
        let call = &mut self.calls[number];
        call.dispatch_count += 1;
        let once = match call.kind {
            Kind::Batch(count) => count,
            _ => 1,
        };
        let most = match call.is_idempotent {
            true => once * call.attempt_count,
            false => once,
        };
        assert!(
            call.dispatch_count <= most,
            "call {number} was dispatched {} times, and may be {most} times: {call:?}",
            call.dispatch_count
        );
        if let Some(Told::NotDispatched(_)) = call.told {
            panic!(
                "call {number} was dispatched after its caller was told that it never was: {call:?}"
            );
        }
    }

    /// The caller is told how its call ended.
    pub(crate) fn tell(&mut self, number: usize, told: Told) {
        let call = &mut self.calls[number];
        assert_eq!(
            call.told, None,
            "call {number} ended twice, now with {told:?}: {call:?}"
        );
        match told {
            Told::Returned => assert!(
                call.kind == Kind::Twoway && call.dispatch_count > 0,
                "call {number} got a reply that no servant gave: {call:?}"
            ),
            Told::NotDispatched(_) => assert_eq!(
                call.dispatch_count, 0,
                "call {number} was dispatched, and its caller is told that it never was: {call:?}"
            ),
            Told::Sent | Told::PerhapsDispatched(_) => {}
        }
        call.told = Some(told);
        call.in_flight = None;
        self.open_count -= 1;
    }

    /// When all is over: each call has ended. If nothing but closes happened (`is_quiet`), no client is
    /// in doubt, and if there were enough retries for them, each client got what it asked for.
    pub(crate) fn check(&self, is_quiet: bool, must_succeed: bool) {
        for (number, call) in self.calls.iter().enumerate() {
            let told = call.told.unwrap_or_else(|| {
                panic!("call {number} never ended: {call:?}");
            });
            let succeeded = matches!(told, Told::Returned | Told::Sent) || call.deadline.is_some();
            // The server's own calls are bound to a connection that may be closing.
            assert!(
                !must_succeed || succeeded || call.bound_to.is_some(),
                "call {number} failed though nothing went wrong: {call:?}"
            );
            let is_doubtful =
                matches!(told, Told::PerhapsDispatched(_)) && call.side == 0 && !succeeded;
            assert!(
                !(is_quiet && is_doubtful),
                "call {number} is in doubt without need: {call:?}"
            );
        }
    }
}

impl Call {
    /// A call that has not begun.
    pub(crate) fn new(
        side: usize,
        kind: Kind,
        is_idempotent: bool,
        retries: &'static [Duration],
    ) -> Self {
        Self {
            side,
            kind,
            is_idempotent,
            parameters_len: 0,
            deadline: None,
            bound_to: None,
            retries: match side {
                0 => Retries::new(is_idempotent, retries),
                // The server calls over one connection, or not at all.
                _ => Retries::none(),
            },
            in_flight: None,
            attempt_count: 0,
            dispatch_count: 0,
            told: None,
        }
    }
}
