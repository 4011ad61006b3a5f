//! The reading half of a connection: handles the bytes that were read.
//!
//! `driver.rs` decides which thread or task reads.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker, ready};

use floe_wire::compression::{Compression, Decompressor};
use floe_wire::connection::{ConnectionEvent, Input, Replies};
#[cfg(unix)]
use floe_wire::message::IncomingReply;
use floe_wire::message::{HeadCache, ProtocolError, SingleRequest, reply};
use tokio::io::{AsyncRead, ReadBuf};

use super::ConnectionCore;
use super::dispatching::{Dispatching, Handled};
use super::keepalive::Keepalive;
#[cfg(unix)]
use super::pending_reply::PendingReply;
use super::read_buffer::ReadBuffer;
use super::read_buffers::ReadBuffers;
use super::read_end::ReadEnd;
use super::reentrancy_guard::{Guarded, ReentrancyGuard, handling};
#[cfg(unix)]
use super::reply::{ReceivedReply, ShortReply};
use super::reply_recipient::ReplyRecipient;
use super::send_half::ConnectionState;
use super::unfinished::Unfinished;
use super::wait::Wait;
use crate::adaptive_poll::AdaptivePoll;
use crate::address_turn::Participation;

/// From this length on, a read costs far more than reading the clock.
const LONG_READ: usize = 8 * 1024;

/// The reading half of a connection. One thread or task at a time uses it.
///
/// When it is dropped, for any reason, the connection ends, so that requests in flight fail.
pub(super) struct Reading {
    pub(super) connection: Arc<ConnectionCore>,
    pub(super) polling: AdaptivePoll,
    pub(super) input: ReadBuffer,
    decompressor: Decompressor,
    buffers: Option<Box<ReadBuffers>>,
    /// True if a request or a reply has come since the last read.
    has_message: bool,
    dispatching: Dispatching,
    /// The wait for the rest of a message; `None` if no part of a message is there.
    unfinished: Option<Box<Unfinished>>,
}

impl Reading {
    pub(super) fn new(connection: Arc<ConnectionCore>, turns: Participation) -> Self {
        Self {
            decompressor: decompressor(&connection),
            dispatching: Dispatching::new(connection.clone(), turns),
            connection,
            polling: AdaptivePoll::default(),
            input: ReadBuffer::default(),
            buffers: None,
            has_message: false,
            unfinished: None,
        }
    }

    /// Returns the room to read into.
    #[inline]
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.buffers.is_none() {
            self.take_buffers();
        }
        let limit = self.connection.settings.message_size_max;
        self.input.room(limit)
    }

    /// Reads into the room. While it waits for input, it holds no buffer.
    pub(super) async fn read<R>(&mut self, reader: &mut R) -> std::io::Result<usize>
    where
        R: AsyncRead + Unpin + ?Sized,
    {
        poll_fn(|context| {
            ready!(self.dispatching.quantum.poll_enter(context));
            let mut room = ReadBuf::new(self.room());
            let polled = Pin::new(&mut *reader).poll_read(context, &mut room);
            let count = room.filled().len();
            if polled.is_pending() {
                let settings = &self.connection.settings;
                self.dispatching.quantum.wait_for_input(settings, context);
                self.return_buffers();
                if self.input.len() > 0
                    && let Poll::Ready(error) = self.poll_unfinished(context)
                {
                    return Poll::Ready(Err(error));
                }
            }
            polled.map_ok(|()| count)
        })
        .await
    }

    /// Waits for the rest of a message until it is late, or unfinished messages hold too much memory.
    fn poll_unfinished(&mut self, context: &mut Context<'_>) -> Poll<std::io::Error> {
        if let Err(error) = self.hold_unfinished() {
            return Poll::Ready(error);
        }
        let come = self.input.len();
        let unfinished = self.unfinished.as_mut();
        unfinished.map_or(Poll::Pending, |it| it.poll_late(context, come))
    }

    /// Notes the memory of a part of a message.
    fn hold_unfinished(&mut self) -> std::io::Result<()> {
        let settings = &self.connection.settings;
        let unfinished = self.unfinished.get_or_insert_with(|| {
            let size = self.input.needed(settings.message_size_max);
            let memory = self.connection.input_memory();
            Box::new(Unfinished::new(size, settings, memory))
        });
        unfinished.hold(self.input.memory(), settings)
    }

    /// Returns true if a part of a message is there, for a thread that is about to wait for the rest.
    #[cfg(unix)]
    pub(super) fn is_in_message(&self) -> bool {
        self.input.len() > 0
    }

    /// Checks a part of a message whose rest has not come while a thread waited.
    #[cfg(unix)]
    pub(super) fn check_unfinished(&mut self) -> std::io::Result<()> {
        if self.is_in_message() {
            self.hold_unfinished()?;
        }
        let come = self.input.len();
        self.unfinished.as_ref().map_or(Ok(()), |it| it.check(come))
    }

    /// Takes buffers of this thread.
    fn take_buffers(&mut self) {
        let buffers = self.buffers.insert(ReadBuffers::take());
        self.input.take_room(&mut buffers.room);
    }

    /// Gives the buffers back to this thread, because there is nothing to read.
    fn return_buffers(&mut self) {
        if let Some(mut buffers) = self.buffers.take() {
            self.input.give_back(&mut buffers.room);
            buffers.take_back(&mut self.dispatching);
            ReadBuffers::put_back(buffers);
        }
    }

    /// Handles the result of a read into the room, and writes the replies. Returns false when the connection has ended.
    pub(super) async fn handle(&mut self, read: std::io::Result<usize>) -> bool {
        let is_open = match self.handle_single(&read) {
            Handled::Done => true,
            Handled::NeedsFinish => self.finish_single().await,
            Handled::NotTaken => self.handle_all(read).await,
        };
        let settings = &self.connection.settings;
        if !is_open {
            self.dispatching.quantum.leave(settings).await;
        } else if self.dispatching.quantum.is_over() {
            self.dispatching.quantum.give_way(settings).await;
        }
        is_open
    }

    /// Begins a new quantum, because other connections could run meanwhile.
    pub(super) fn begin_quantum(&mut self) {
        self.dispatching.quantum.begin();
    }

    async fn handle_all(&mut self, read: std::io::Result<usize>) -> bool {
        if !matches!(read, Ok(1..)) {
            // The end of a connection takes time of its address, too.
            self.dispatching.quantum.look(&self.connection.settings);
        }
        let end = match read {
            Ok(0) => Some(ReadEnd::of_stream(&self.connection, &self.input)),
            Ok(count) => {
                self.filled(count);
                if count >= LONG_READ {
                    self.dispatching.quantum.look(&self.connection.settings);
                }
                let come = self.input.len();
                let is_open = self.handle_filled().await;
                if self.input.len() < come {
                    // The unfinished message is handled. A part of the next message has a time of its own.
                    self.unfinished = None;
                }
                return is_open;
            }
            Err(error) => Some(ReadEnd::of_error(&error)),
        };
        self.is_open_after(end)
    }

    /// Handles the input on the fast path, if it holds only replies without results, or one request that can be
    /// dispatched without a wait.
    #[inline]
    fn handle_single(&mut self, read: &std::io::Result<usize>) -> Handled {
        let Ok(count) = *read else {
            return Handled::NotTaken;
        };
        if self.deliver_returned(count) {
            return Handled::Done;
        }
        let Some(message) = self.input.single(count) else {
            return Handled::NotTaken;
        };
        let Some(buffers) = &mut self.buffers else {
            return Handled::NotTaken;
        };
        let limit = self.connection.settings.message_size_max;
        let Some(request) = SingleRequest::peek(message, limit, &mut buffers.cache) else {
            return Handled::NotTaken;
        };
        self.connection.keepalive.mark_handling();
        let _handled = ReentrancyGuard::enter(Guarded::of(&self.connection));
        buffers.lend_to(&mut self.dispatching);
        let handled =
            self.dispatching
                .dispatch_single(request, &mut self.input, count, &buffers.cache);
        if handled != Handled::NotTaken {
            let settings = &self.connection.settings;
            self.dispatching.quantum.spend_requests(1, settings);
        }
        if handled == Handled::Done {
            self.connection.keepalive.mark_handled(true);
        }
        handled
    }

    /// Delivers the replies that were just read, if the room holds only replies that returned nothing. Returns true if
    /// so. The next read overwrites them in place, so that an acknowledged event costs little more than a scan of these
    /// bytes.
    #[inline]
    fn deliver_returned(&mut self, count: usize) -> bool {
        let limit = self.connection.settings.message_size_max;
        let Some(input) = self.input.single(count) else {
            return false;
        };
        // A connection that is closing or not validated yet must handle each message.
        let has_message = match reply::all_returned_nothing(input, limit) {
            Some(replies) if self.connection.is_active() => {
                ReplyRecipient::deliver_returned(&self.connection, replies.peekable())
            }
            _ => return false,
        };
        self.input.learn(count);
        self.connection.keepalive.mark_handled(has_message);
        self.dispatching.note_reply_read();
        true
    }

    /// Finishes a request that came alone.
    async fn finish_single(&mut self) -> bool {
        let finish = pin!(self.dispatching.finish_read());
        handling(Guarded::of(&self.connection), finish).await;
        self.connection.keepalive.mark_handled(true);
        true
    }

    /// Counts this many bytes of the room as read.
    fn filled(&mut self, count: usize) {
        self.connection.keepalive.mark_handling();
        self.input
            .filled(count, self.connection.settings.message_size_max);
    }

    /// Handles the bytes that were read, and writes the replies. Returns false when the connection has ended.
    async fn handle_filled(&mut self) -> bool {
        let end = match self.take_messages() {
            // A client nearly always returns here: its input held only replies, and they have been delivered.
            Ok(false) => None,
            taken => {
                let guarded = Guarded::of(&self.connection);
                handling(guarded, pin!(self.handle_events(taken))).await
            }
        };
        let has_message = std::mem::take(&mut self.has_message);
        self.connection.keepalive.mark_handled(has_message);
        self.is_open_after(end)
    }

    /// Takes the reply for `pending`, if the `count` bytes that were just read are that reply alone. A short reply with
    /// results is copied into `short`, and the next read overwrites these bytes.
    #[cfg(unix)]
    #[inline]
    pub(super) fn take_own_reply(
        &mut self,
        count: usize,
        pending: &Arc<PendingReply>,
        short: &mut ShortReply,
    ) -> Option<ReceivedReply> {
        let limit = self.connection.settings.message_size_max;
        let id = IncomingReply::peek_single(self.input.single(count)?, limit)?;
        let mut shared = self.connection.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        // A connection that is closing must handle each message.
        if !machine.is_active() {
            return None;
        }
        let is_own = |token: &ReplyRecipient| token.is_caller(pending);
        let token = machine.handle_reply(id, is_own, queue.bytes())?;
        drop(shared);
        drop(token);
        self.connection.keepalive.mark_handled(true);
        if let Some(read) = self.input.start_of_room(count) {
            let message = &read[..count];
            let received = if reply::returned_nothing(message) {
                Some(ReceivedReply::Nothing)
            } else if reply::returned(message).is_some() {
                short.fill(read, count);
                Some(ReceivedReply::Short)
            } else {
                None
            };
            if received.is_some() {
                self.input.learn(count);
                return received;
            }
        }
        let bytes = self.input.take_single(count);
        Some(ReceivedReply::Whole(IncomingReply::new(id, bytes)))
    }

    fn is_open_after(&self, end: Option<ReadEnd>) -> bool {
        let is_open = end.is_none();
        if let Some(end) = end {
            end.end(&self.connection);
        }
        is_open
    }

    /// Runs [`Reading::handle`] on this thread, which blocks where needed.
    pub(super) fn handle_blocking(&mut self, read: std::io::Result<usize>) -> bool {
        match self.handle_single(&read) {
            Handled::Done => true,
            Handled::NeedsFinish => block_on(pin!(self.finish_single())),
            Handled::NotTaken => block_on(pin!(self.handle_all(read))),
        }
    }

    /// Handles the event that was taken from the input, and all input behind it.
    async fn handle_events(&mut self, mut taken: Result<bool, ProtocolError>) -> Option<ReadEnd> {
        let end = loop {
            match taken {
                Ok(true) if self.handle_event().await => break Some(ReadEnd::Graceful),
                Ok(true) => {
                    if self.dispatching.quantum.is_over() {
                        Box::pin(self.dispatching.end_quantum()).await;
                    }
                    taken = self.take_messages();
                }
                Ok(false) => break None,
                Err(error) => break Some(ReadEnd::Refused(error)),
            }
        };
        // The requests before a bad message are answered first.
        self.dispatching.finish_read().await;
        end
    }

    /// Takes whole messages off the input, up to the first that gives an event, and delivers the replies before it.
    /// Returns true if there is an event; it is then in `event` of the buffers.
    fn take_messages(&mut self) -> Result<bool, ProtocolError> {
        let taken = self.take_event();
        self.deliver_replies();
        taken
    }

    fn take_event(&mut self) -> Result<bool, ProtocolError> {
        let limit = self.connection.settings.message_size_max;
        let Some(buffers) = &mut self.buffers else {
            return Ok(false);
        };
        let mut decompressed = None;
        loop {
            let input = match decompressed.take() {
                Some(message) => Input::Message(message),
                // Asked first, because `next` takes a long message out of the input.
                None if self.dispatching.quantum.is_over() => break,
                None => match self.input.next() {
                    Some(input) => input,
                    None => break,
                },
            };
            let is_message = matches!(input, Input::Message(_));
            let (event, has_output) = Self::handle_input(
                &self.connection,
                input,
                &mut buffers.cache,
                &mut buffers.replies,
            );
            if has_output {
                // The state machine may have appended bytes, such as the end of a graceful close.
                self.connection.flush();
            }
            match event? {
                Some(ConnectionEvent::Compressed(message)) => {
                    let settings = &self.connection.settings;
                    self.dispatching.quantum.look(settings);
                    // Decompressed without the lock, because it takes a while and others may send meanwhile.
                    let message = self.decompressor.decompress(message, limit)?;
                    self.dispatching
                        .quantum
                        .spend_inflated(message.bytes.len(), settings);
                    decompressed = Some(message);
                }
                Some(event) => {
                    buffers.event = Some(event);
                    break;
                }
                None if is_message => {}
                None => break,
            }
        }
        // The replies of one quantum are delivered before more are taken.
        Ok(buffers.event.is_some() || self.dispatching.quantum.is_over())
    }

    /// Delivers replies to their callers. The state machine no longer knows these requests, so no other code will
    /// answer them.
    fn deliver_replies(&mut self) {
        if let Some(buffers) = &mut self.buffers
            && !buffers.replies.is_empty()
        {
            self.has_message = true;
            for (recipient, reply) in buffers.replies.drain(..) {
                recipient.answer(reply);
            }
        }
    }

    /// Handles the event that was taken. Returns true if the peer closed the connection.
    async fn handle_event(&mut self) -> bool {
        let Some(buffers) = &mut self.buffers else {
            return false;
        };
        buffers.lend_to(&mut self.dispatching);
        self.has_message |= !matches!(buffers.event, None | Some(ConnectionEvent::Heartbeat));
        // Borrowed in place, because a batch is expensive to move, and a value that waits would enlarge the task of each
        // connection.
        match &mut buffers.event {
            Some(ConnectionEvent::Requests(batch)) => self.dispatching.dispatch(batch).await,
            Some(ConnectionEvent::Refused(refused)) => {
                Box::pin(self.dispatching.refuse(refused)).await;
            }
            _ => {}
        }
        match buffers.event.take() {
            None
            | Some(
                ConnectionEvent::Requests(_)
                | ConnectionEvent::Refused(_)
                | ConnectionEvent::Compressed(_),
            ) => {}
            Some(ConnectionEvent::Validated) => {
                self.connection.mark_validated();
            }
            Some(ConnectionEvent::Closed(recipients)) => {
                ReplyRecipient::refuse(recipients, self.connection.peer());
                return true;
            }
            Some(ConnectionEvent::Heartbeat) => {
                Keepalive::call_heartbeat_listener(&self.connection)
            }
        }
        false
    }

    /// Passes input to the state machine. Also returns true if there is now something to write.
    fn handle_input(
        connection: &ConnectionCore,
        input: Input<'_>,
        cache: &mut HeadCache,
        replies: &mut Replies<ReplyRecipient>,
    ) -> (
        Result<Option<ConnectionEvent<ReplyRecipient>>, ProtocolError>,
        bool,
    ) {
        let mut shared = connection.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        if machine.is_closed() {
            return (Ok(None), false);
        }
        let end = queue.end();
        let limit = connection.settings.message_size_max;
        let event = machine.handle_input(input, limit, cache, replies, queue.bytes());
        if matches!(event, Ok(Some(ConnectionEvent::Closed(_)))) {
            // Set before callers can find the connection closed, so that they see the reason.
            connection.is_active.store(false, Ordering::Relaxed);
        }
        let has_output = queue.end() > end;
        (event, has_output)
    }
}

/// The decompressor of a connection. A server takes the streams that it offers, and a client those that it may have asked
/// for: each takes memory while its connection is open.
fn decompressor(connection: &ConnectionCore) -> Decompressor {
    let settings = &connection.settings;
    let decompressor = Decompressor::with_ratio_max(settings.inflation_ratio_max);
    let offers_stream = settings.compressions.contains(&Compression::ZstdStream);
    match connection.is_outgoing() || offers_stream {
        true => match connection.compression_streams() {
            Some(limit) => decompressor.with_stream_limit(limit),
            None => decompressor,
        },
        false => decompressor.without_stream(),
    }
}

fn block_on<F: Future>(mut handling: Pin<&mut F>) -> F::Output {
    match handling
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(queue) => queue,
        // The send queue or the dispatches are at their limit. This is rare.
        Poll::Pending => handling.wait(),
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.deliver_replies();
        // If the connection has ended, it has a reason.
        if self.connection.lock().error.is_none() {
            let reason = "its task was dropped with its runtime".to_owned();
            ReadEnd::Lost(reason).end(&self.connection);
        }
    }
}
