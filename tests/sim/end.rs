//! One end of a connection, without a network: the state machine, the output that the runtime has,
//! and what is read.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use floe_wire::EncodingVersion;
use floe_wire::connection::{
    AttemptEnd, ConnectionEvent, Input, RequestIds, Role, SendQueue, StateMachine, WriteBatch,
};
use floe_wire::encoding::Buffer;
use floe_wire::message::{
    BatchWriter, Context, HeadCache, IncomingReply, IncomingRequest, OperationMode, RequestHead,
    RequestId, RequestTarget, reply,
};
use floe_wire::reference::Identity;

use crate::book::{Call, Kind};
use crate::keepalive::Keepalive;

/// The token of a request in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) call: usize,
    /// Where it stands in the output.
    pub(crate) start: u64,
}

/// Input that was read.
#[derive(Debug)]
pub(crate) enum Arrived {
    Reply(Token, IncomingReply),
    Event(ConnectionEvent<Token>),
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) machine: StateMachine<Token>,
    pub(crate) output: SendQueue,
    /// The bytes that a full network did not take.
    pub(crate) writing: Option<WriteBatch>,
    /// True if the driver was told to write what is collected, and has not yet done it.
    pub(crate) is_flush_scheduled: bool,
    /// True if replies were appended, which are written next.
    pub(crate) is_write_due: bool,
    pub(crate) input: BytesMut,
    cache: HeadCache,
    /// Input that was read and not yet handled, because the dispatches are at their limit.
    pub(crate) arrived: VecDeque<Arrived>,
    pub(crate) dispatch_count: usize,
    /// Calls that wait for room in the output.
    pub(crate) waiting: Vec<usize>,
    /// Replies that wait for room in it.
    pub(crate) replies: VecDeque<Buffer>,
    pub(crate) keepalive: Keepalive,
    /// Why it is closed, once it is.
    pub(crate) ended: Option<AttemptEnd>,
    pub(crate) close_began: Option<Duration>,
    /// Requests appended, and the last of the peer's that was dispatched: each has a number.
    pub(crate) appended_count: u64,
    pub(crate) dispatched_last: u64,
}

/// Why a call was not appended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It must wait for room.
    Full,
    /// The connection takes no more.
    NotActive,
}

impl End {
    /// The end of a connection that was just made.
    pub(crate) fn new(side: usize, (epoch, now): (Instant, Duration)) -> Self {
        let mut output = SendQueue::default();
        let role = [Role::Client, Role::Server][side];
        Self {
            machine: StateMachine::new(role, output.bytes()),
            output,
            writing: None,
            is_flush_scheduled: false,
            is_write_due: false,
            input: BytesMut::new(),
            cache: HeadCache::default(),
            arrived: VecDeque::new(),
            dispatch_count: 0,
            waiting: Vec::new(),
            replies: VecDeque::new(),
            keepalive: Keepalive::new(epoch, now),
            ended: None,
            close_began: None,
            appended_count: 0,
            dispatched_last: 0,
        }
    }

    /// Appends the request of a call; its id if it has one.
    ///
    /// Source: `try_append` in `crates/runtime/src/connection/core.rs`.
    pub(crate) fn append(
        &mut self,
        number: usize,
        call: &Call,
        output_limit: usize,
    ) -> Result<Option<RequestId>, Refusal> {
        if self.output.waiting_len() > output_limit && self.machine.is_active() {
            return Err(Refusal::Full);
        }
        let start = self.output.end();
        if !self.machine.is_active() {
            return Err(Refusal::NotActive);
        }
        match call.kind {
            Kind::Twoway => {
                let id = self.machine.reserve_id();
                let id = id.ok_or(Refusal::NotActive)?;
                self.write_request(number, call, id);
                let token = |_| Token {
                    call: number,
                    start,
                };
                let ids = RequestIds::Reserved(id);
                let appended = self
                    .machine
                    .append_requests(ids, |_, _| Ok::<_, ()>(()), token);
                return appended.map(Some).map_err(|_| Refusal::NotActive);
            }
            Kind::Oneway => self.write_request(number, call, RequestId::ONEWAY),
            Kind::Batch(count) => self.write_batch(number, call, count),
        }
        Ok(None)
    }

    fn write_request(&mut self, number: usize, call: &Call, id: RequestId) {
        self.appended_count += 1;
        let nth = self.appended_count;
        let parameters = parameters(number, nth, call.parameters_len);
        with_header(call, |header| {
            header
                .write_with(self.output.pending(), id, |encoder| {
                    encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
                        encoder.shared_bytes(&parameters);
                    });
                })
                .expect("bytes have an encoding");
        });
    }

    fn write_batch(&mut self, number: usize, call: &Call, count: usize) {
        let mut batch = BatchWriter::default();
        for _ in 0..count {
            self.appended_count += 1;
            let parameters = parameters(number, self.appended_count, 0);
            with_header(call, |header| {
                let pushed = batch.push(header, usize::MAX, |encoder| {
                    encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
                        encoder.bytes(&parameters);
                    });
                });
                assert!(matches!(pushed, Ok(None)));
            });
        }
        let message = batch.finish().expect("it is not empty");
        self.output.bytes().extend_from_slice(&message);
    }

    /// Turns what was read into events.
    ///
    /// Source: `take_event` in `crates/runtime/src/connection/reading.rs`.
    pub(crate) fn take_messages(&mut self, message_size_max: usize) {
        let mut replies = Vec::new();
        loop {
            let event = self.machine.handle_input(
                Input::Bytes(&mut self.input),
                message_size_max,
                &mut self.cache,
                &mut replies,
                self.output.bytes(),
            );
            let event =
                event.expect("both sides keep the protocol, and the network changes no byte");
            let replies = replies.drain(..);
            self.arrived
                .extend(replies.map(|(token, reply)| Arrived::Reply(token, reply)));
            match event {
                None => return,
                // Here each is dispatched at a time of its own.
                Some(ConnectionEvent::Requests(batch)) if !batch.is_serial() => {
                    self.arrived.extend(
                        batch.map(|request| {
                            Arrived::Event(ConnectionEvent::Requests(request.into()))
                        }),
                    );
                }
                Some(event) => self.arrived.push_back(Arrived::Event(event)),
            }
        }
    }

    /// The number of the call that a request of the peer belongs to.
    pub(crate) fn accept(&mut self, request: &IncomingRequest) -> usize {
        let parameters = request.parameters().slice(6..);
        let number = |at: usize| {
            let bytes = parameters[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        let (call, nth) = (number(0), number(8));
        assert_eq!(
            nth,
            self.dispatched_last + 1,
            "requests are dispatched in the order in which they were sent, without a gap"
        );
        self.dispatched_last = nth;
        call as usize
    }
}

/// The reply to a request, which says whose it is.
pub(crate) fn reply_to(id: RequestId, number: usize) -> Buffer {
    let mut bytes = Buffer::default();
    reply::write_returned(&mut bytes, id, EncodingVersion::V1_1, |encoder| {
        encoder.bytes(&(number as u64).to_le_bytes());
    })
    .expect("bytes have an encoding");
    bytes
}

fn parameters(number: usize, nth: u64, len: usize) -> Bytes {
    let mut bytes = (number as u64).to_le_bytes().to_vec();
    bytes.extend(nth.to_le_bytes());
    bytes.resize(16 + len, 0x5A);
    bytes.into()
}

fn with_header(call: &Call, write: impl FnOnce(&RequestHead<'_>)) {
    let mode = match call.is_idempotent {
        true => OperationMode::Idempotent,
        false => OperationMode::Normal,
    };
    write(&RequestHead {
        target: &RequestTarget::new(&Identity::new("object"), ""),
        operation: "op",
        mode,
        context: &Context::new(),
    });
}
