//! Callers and servants: attempts, retries, deadlines, dispatches and replies.

use std::time::Duration;

use floe_wire::connection::{AttemptEnd, ConnectionEvent, FlushPolicy};
use floe_wire::message::{IncomingReply, IncomingRequest, Outcome, RequestId};

use crate::book::{Kind, Told};
use crate::end::{Arrived, Refusal, Token, reply_to};
use crate::world::{Action, World};

impl World {
    /// Source: `attempt` in `crates/runtime/src/call/attempt.rs`.
    pub(crate) fn attempt(&mut self, number: usize) {
        let call = &self.book.calls[number];
        if call.told.is_some() {
            return;
        }
        if call.side == 0 {
            return self.attempt_from_client(number);
        }
        let open = |joint: &usize| self.joints[*joint].ends[1].machine.is_active();
        let bound_to = call.bound_to;
        let bound_to = bound_to.or_else(|| (0..self.joints.len()).rev().find(open));
        match bound_to {
            Some(joint) => {
                self.book.calls[number].bound_to = Some(joint);
                self.send(number, joint);
            }
            // Nobody has connected: there is no one to call.
            None => {
                self.book.calls[number].bound_to = Some(0);
                self.tell(number, Told::NotDispatched(AttemptEnd::Final));
            }
        }
    }

    /// Source: `to` in `crates/runtime/src/connection/pool.rs`.
    fn attempt_from_client(&mut self, number: usize) {
        match self.pool.joint {
            Some(joint) if self.joints[joint].ends[0].machine.is_active() => {
                self.send(number, joint)
            }
            Some(joint) if self.joints[joint].ends[0].machine.is_validating() => {
                self.pool.waiting.push(number);
            }
            _ => {
                self.pool.waiting.push(number);
                if !std::mem::replace(&mut self.pool.is_connecting, true) {
                    let wait = self.random.time(self.plan.weather.delay_max);
                    self.after(wait, Action::Connected);
                }
            }
        }
    }

    fn send(&mut self, number: usize, joint: usize) {
        let call = &mut self.book.calls[number];
        let (side, kind) = (call.side, call.kind);
        let end = &mut self.joints[joint].ends[side];
        match end.append(number, call, self.plan.output_limit) {
            Err(Refusal::Full) => end.waiting.push(number),
            Err(Refusal::NotActive) => {
                let why = end.ended.unwrap_or(AttemptEnd::Lost);
                self.attempt_failed(number, why, false);
            }
            Ok(id) => {
                call.attempt_count += 1;
                call.in_flight = id.map(|id| (joint, id));
                end.keepalive.mark_used(self.now);
                if id.is_none() {
                    self.tell(number, Told::Sent);
                }
                let policy = match kind {
                    Kind::Twoway if self.random.percent(50) => FlushPolicy::WithOthers,
                    Kind::Oneway => FlushPolicy::Oneway,
                    Kind::Twoway | Kind::Batch(_) => FlushPolicy::Now,
                };
                self.flush_by(joint, side, policy);
            }
        }
    }

    /// An attempt has failed: another one follows, if that is safe.
    pub(crate) fn attempt_failed(
        &mut self,
        number: usize,
        why: AttemptEnd,
        is_perhaps_dispatched: bool,
    ) {
        let call = &mut self.book.calls[number];
        if call.told.is_some() {
            return;
        }
        call.in_flight = None;
        let left = call.deadline.map(|end| end.saturating_sub(self.now));
        let wait = call.retries.fail(is_perhaps_dispatched, why, left);
        let is_doubtful = call.retries.is_perhaps_dispatched();
        match wait {
            Some(wait) => self.after(wait, Action::Attempt(number)),
            None if is_doubtful => self.tell(number, Told::PerhapsDispatched(why)),
            None => self.tell(number, Told::NotDispatched(why)),
        }
    }

    /// Gives a call up, wherever it is.
    pub(crate) fn time_out(&mut self, number: usize) {
        let call = &mut self.book.calls[number];
        if call.told.is_some() {
            return;
        }
        let side = call.side;
        let is_perhaps_dispatched = call.in_flight.is_some();
        call.retries
            .fail(is_perhaps_dispatched, AttemptEnd::Final, None);
        let told = match call.retries.is_perhaps_dispatched() {
            true => Told::PerhapsDispatched(AttemptEnd::Final),
            false => Told::NotDispatched(AttemptEnd::Final),
        };
        let in_flight = call.in_flight.take();
        self.tell(number, told);
        self.pool.waiting.retain(|waiting| *waiting != number);
        for joint in &mut self.joints {
            joint.ends[side]
                .waiting
                .retain(|waiting| *waiting != number);
        }
        if let Some((joint, id)) = in_flight {
            let end = &mut self.joints[joint].ends[side];
            let token = end.machine.cancel(id, end.output.bytes());
            // None if its reply was read, and waits behind requests that may not be dispatched yet.
            let call = token.map_or(number, |token| token.call);
            assert_eq!(call, number, "it was in flight");
            self.flush(joint, side, false);
        }
    }

    fn tell(&mut self, number: usize, told: Told) {
        self.book.tell(number, told);
    }

    /// Handles what was read, until dispatches are at their limit.
    pub(crate) fn handle_events(&mut self, joint: usize, side: usize) {
        loop {
            let end = &mut self.joints[joint].ends[side];
            let is_full = end.dispatch_count >= self.plan.dispatch_limit || !end.replies.is_empty();
            let needs_room = matches!(
                end.arrived.front(),
                Some(Arrived::Event(ConnectionEvent::Requests(_)))
            );
            if needs_room && is_full {
                return;
            }
            match end.arrived.pop_front() {
                None => return,
                Some(Arrived::Reply(token, reply)) => self.replied(joint, side, token, reply),
                Some(Arrived::Event(event)) => self.handle_event(joint, side, event),
            }
        }
    }

    fn handle_event(&mut self, joint: usize, side: usize, event: ConnectionEvent<Token>) {
        match event {
            ConnectionEvent::Heartbeat => {}
            ConnectionEvent::Validated => self.validated(joint),
            ConnectionEvent::Compressed(_) => unreachable!("nothing is compressed here"),
            ConnectionEvent::Refused(_) => unreachable!("all requests are well-formed here"),
            ConnectionEvent::Requests(batch) => {
                for request in batch {
                    self.dispatch(joint, side, &request);
                }
            }
            ConnectionEvent::Closed(tokens) => {
                for token in tokens {
                    self.attempt_failed(token.call, AttemptEnd::ClosedByPeer, false);
                }
                self.fail(joint, side, AttemptEnd::ClosedByPeer);
            }
        }
    }

    fn validated(&mut self, joint: usize) {
        self.joints[joint].is_validated = true;
        for call in std::mem::take(&mut self.pool.waiting) {
            self.after(Duration::ZERO, Action::Attempt(call));
        }
    }

    fn dispatch(&mut self, joint: usize, side: usize, request: &IncomingRequest) {
        let end = &mut self.joints[joint].ends[side];
        end.keepalive.mark_used(self.now);
        let number = end.accept(request);
        self.book.dispatched(number);
        if request.id().is_oneway() {
            return;
        }
        self.joints[joint].ends[side].dispatch_count += 1;
        let takes = self.random.time(self.plan.dispatch_max);
        self.after(takes, Action::Dispatched(joint, side, request.id(), number));
    }

    /// Source: `send_replies` in `crates/runtime/src/connection/dispatching.rs`.
    pub(crate) fn reply(&mut self, joint: usize, side: usize, id: RequestId, number: usize) {
        let end = &mut self.joints[joint].ends[side];
        match end.ended {
            Some(_) => end.dispatch_count -= 1,
            None => end.replies.push_back(reply_to(id, number)),
        }
        // It takes what room there is.
        self.flush(joint, side, false);
        self.after(Duration::ZERO, Action::Arrive(joint, side));
    }

    fn replied(&mut self, joint: usize, side: usize, token: Token, reply: IncomingReply) {
        self.joints[joint].ends[side].keepalive.mark_used(self.now);
        let call = &self.book.calls[token.call];
        if call.told.is_some_and(|told| told != Told::Returned) {
            // It was given up after its reply had been read.
            return;
        }
        let expected = Some((joint, reply.id()));
        assert_eq!(
            call.in_flight, expected,
            "a reply for another request: {call:?}"
        );
        assert_eq!(call.kind, Kind::Twoway);
        match reply.into_outcome() {
            Ok(Outcome::Returned(results)) => {
                let number = u64::from_le_bytes(results[6..14].try_into().expect("eight bytes"));
                assert_eq!(number as usize, token.call, "the reply of another call");
            }
            other => panic!("expected results, got {other:?}"),
        }
        self.tell(token.call, Told::Returned);
    }
}
