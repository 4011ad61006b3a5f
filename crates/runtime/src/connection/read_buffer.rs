//! Bytes that have been read and are not yet messages, and room for more.

mod long;

use bytes::{Bytes, BytesMut};
use floe_wire::connection as wire;
use floe_wire::message::{HEADER_LEN, Header, Message};

use super::buffer_pool::{self, BufferPool};
use long::{LONG_MIN, Long};

/// The input of a connection.
///
/// Read bytes and the room behind them are neighbours in one allocation, of which messages are cut
/// off at the front without a copy. The room is initialised once and not for each read. A long
/// message is read into a buffer of its own, which serves again when the message is dropped. After a long
/// message the next read goes there immediately: long messages come one after another, and are mostly of
/// about the same length. While nothing is there to read, the room is given away, and the thread keeps one long buffer for
/// the next connection that reads.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: BytesMut,
    room: BytesMut,
    read_len: usize,
    /// Whether the last read filled the room.
    is_full: bool,
    /// A message that is being read into a buffer of its own.
    long: Option<Long>,
    /// The buffer of the last long message; empty if it is not worth keeping.
    kept: Bytes,
    /// A buffer of which nothing is used yet, while the next message is expected to be long.
    ahead: Option<BytesMut>,
    /// Length of that message: that of the last one, if it was long, else 0.
    expected: usize,
}

thread_local! {
    /// The buffer of the last long message of one that waits. With one for each connection, those of a
    /// client that had met one long message each were most of its memory.
    static LONG: BufferPool<Bytes> = const { BufferPool::new(Vec::new()) };
}

/// Room for a read when nothing is known of the next message.
const READ_LEN_MIN: usize = 8 * 1024;
/// The most room that is kept ready for small messages.
const READ_LEN_MAX: usize = 256 * 1024;
/// The most that is read in expectation of a long message: as much as of other messages at once.
const AHEAD_MAX: usize = READ_LEN_MAX;
/// No longer buffer of a long message is kept.
const KEPT_MAX: usize = 16 * 1024 * 1024;

impl Input {
    /// What has been read of messages that are not long. Whole ones may be split off.
    pub(super) fn bytes(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// Bytes of the next message that are there.
    pub(super) fn len(&self) -> usize {
        self.long
            .as_ref()
            .map_or(self.bytes.len(), |long| long.filled)
    }

    /// Memory that is held for the next message while the rest of it has not come.
    pub(super) fn memory(&self) -> usize {
        match &self.long {
            Some(long) => long.buffer.len(),
            None => self.bytes.len() + self.room.len(),
        }
    }

    /// Bytes that must be there before the next message can be taken.
    pub(super) fn needed(&self, size_max: usize) -> usize {
        match &self.long {
            Some(long) => long.header.size,
            None => Message::needed(&self.bytes, size_max),
        }
    }

    /// What has been read, if there may be a whole message in it.
    pub(super) fn next(&mut self) -> Option<wire::Input<'_>> {
        if self.long.is_some() {
            let long = self.long.take_if(|long| long.filled == long.header.size)?;
            return Some(wire::Input::Message(self.finish(long)));
        }
        match self.bytes.is_empty() {
            true => None,
            false => Some(wire::Input::Bytes(&mut self.bytes)),
        }
    }

    /// Where to read to. A header alone reserves next to nothing: the room grows with what really
    /// arrives. One with some room left is used as it is, for a new one would have to be allocated as
    /// long as anybody holds a part of the old one.
    #[inline]
    pub(super) fn room(&mut self, size_max: usize) -> &mut [u8] {
        match self.is_ready() {
            true => &mut self.room,
            false => self.make_ready(size_max),
        }
    }

    fn make_ready(&mut self, size_max: usize) -> &mut [u8] {
        if self.long.is_none() && self.bytes.is_empty() && self.look_ahead() {
            return self
                .ahead
                .as_mut()
                .map_or(&mut [], |ahead| &mut ahead[..self.expected.min(AHEAD_MAX)]);
        }
        if self.long.is_none() {
            let header = self.bytes.first_chunk::<HEADER_LEN>();
            // A bad one ends the connection as soon as it is split off.
            match header.and_then(|header| Header::decode(header, size_max).ok()) {
                Some(header) if header.size >= LONG_MIN => self.begin(header),
                Some(header) => self.make_room_for(header.size.saturating_sub(self.bytes.len())),
                None => self.make_room_for(HEADER_LEN.saturating_sub(self.bytes.len())),
            }
        }
        match &mut self.long {
            Some(long) => long.room(),
            None => &mut self.room,
        }
    }

    /// Whether the room is as it shall be, and nothing is known of what comes: nearly always, where requests or
    /// replies come one at a time.
    #[inline]
    fn is_ready(&self) -> bool {
        self.is_between()
            && self.expected == 0
            && !self.is_full
            && self.room.len() >= READ_LEN_MIN / 4
    }

    /// Whether no message has begun, and the next read goes into the room.
    #[inline]
    fn is_between(&self) -> bool {
        self.bytes.is_empty() && self.long.is_none() && self.ahead.is_none()
    }

    /// What was read into the room, `count` bytes, if nothing else is there. It is not taken as read yet.
    #[inline]
    pub(super) fn alone(&self, count: usize) -> Option<&[u8]> {
        match self.is_between() {
            true => self.room.get(..count),
            false => None,
        }
    }

    /// Takes that off as a message.
    #[inline]
    pub(super) fn take_alone(&mut self, count: usize) -> Bytes {
        self.cut_room(count).freeze()
    }

    /// Takes `count` bytes of the room as read.
    pub(super) fn filled(&mut self, count: usize, size_max: usize) {
        if let Some(long) = &mut self.long {
            long.filled += count;
            return;
        }
        if let Some(ahead) = self.ahead.take() {
            return self.filled_ahead(ahead, count, size_max);
        }
        let read = self.cut_room(count);
        // They are neighbours, so this copies nothing.
        self.bytes.unsplit(read);
    }

    /// Cuts off what was read.
    #[inline]
    fn cut_room(&mut self, count: usize) -> BytesMut {
        self.learn(count);
        self.room.split_to(count)
    }

    /// Learns from a read into the room how much room there shall be. Unless what was read is cut off, the next read
    /// takes its place.
    #[inline]
    pub(super) fn learn(&mut self, count: usize) {
        let read_len = self.read_len.max(READ_LEN_MIN);
        self.is_full = count == self.room.len();
        if count < read_len / 8 {
            self.read_len = (read_len / 2).max(READ_LEN_MIN);
        }
    }

    /// The first `LEN` bytes of the room, if at most as many were just read into it and nothing is there before
    /// them. They need not be taken as read if the next ones may take their place.
    #[cfg(unix)]
    #[inline]
    pub(super) fn just_read<const LEN: usize>(&mut self, count: usize) -> Option<&[u8; LEN]> {
        if !self.is_between() || count > LEN {
            return None;
        }
        self.read_len = (self.read_len / 2).max(READ_LEN_MIN);
        self.room.first_chunk()
    }

    /// Whether the next read goes into the buffer of the last long message: if it is to be expected, and
    /// nobody holds that.
    fn look_ahead(&mut self) -> bool {
        if self.expected > 0 && self.ahead.is_none() {
            let kept = self.take_kept();
            match kept.try_into_mut() {
                Ok(kept) if kept.len() >= self.expected => self.ahead = Some(kept),
                Ok(kept) => self.kept = kept.freeze(),
                Err(kept) => self.kept = kept,
            }
        }
        self.ahead.is_some()
    }

    /// Bytes were read into the buffer of the last long message: they are the next one, or, if it is not
    /// long or there is more behind it, go to where such are read.
    fn filled_ahead(&mut self, buffer: BytesMut, count: usize, size_max: usize) {
        let header = buffer[..count].first_chunk::<HEADER_LEN>();
        match header.and_then(|header| Header::decode(header, size_max).ok()) {
            Some(header) if header.size >= LONG_MIN.max(count) => {
                self.long = Some(Long {
                    header,
                    buffer,
                    filled: count,
                });
            }
            _ => {
                self.expected = 0;
                if self.room.len() < count {
                    self.make_room(count);
                }
                self.room[..count].copy_from_slice(&buffer[..count]);
                self.kept = buffer.freeze();
                self.filled(count, size_max);
            }
        }
    }

    fn make_room_for(&mut self, missing: usize) {
        if std::mem::take(&mut self.is_full) {
            self.read_len = (self.read_len.max(READ_LEN_MIN) * 2).min(READ_LEN_MAX);
        }
        let read_len = self.read_len.max(READ_LEN_MIN);
        let growth_max = read_len.max(self.bytes.len());
        if self.room.len() < missing.clamp(READ_LEN_MIN / 4, growth_max) {
            self.make_room(missing.clamp(read_len, growth_max));
        }
    }

    /// Takes a room for what is about to be read, if it has none.
    pub(super) fn take_room(&mut self, room: &mut BytesMut) {
        if self.room.is_empty() && self.bytes.is_empty() {
            std::mem::swap(&mut self.room, room);
        }
    }

    /// Nothing is there to read: gives the room back, unless a message has begun, and a long buffer.
    pub(super) fn rest(&mut self, room: &mut BytesMut) {
        self.rest_long();
        if self.bytes.is_empty() && self.long.is_none() {
            // What is empty, even without capacity, may still hold the allocation.
            self.bytes = BytesMut::new();
            *room = std::mem::take(&mut self.room);
        }
    }

    /// Gives a long buffer away.
    #[inline]
    pub(super) fn rest_long(&mut self) {
        if self.has_long() {
            self.put_back_long();
        }
    }

    fn put_back_long(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            self.kept = ahead.freeze();
        }
        buffer_pool::put_back_last(&LONG, std::mem::take(&mut self.kept));
    }

    /// Whether it keeps a long buffer.
    #[inline]
    pub(super) fn has_long(&self) -> bool {
        !self.kept.is_empty() || self.ahead.is_some()
    }

    /// Keeps no long buffer, and lets this thread keep none: nothing has come for a while.
    pub(super) fn drop_long(&mut self) {
        self.kept = Bytes::new();
        self.ahead = None;
        buffer_pool::take(&LONG);
    }

    fn make_room(&mut self, len: usize) {
        // Joined again, the allocation is used from its start if nobody holds a part of it.
        let held = self.bytes.len();
        let room = std::mem::take(&mut self.room);
        self.bytes.unsplit(room);
        self.bytes.resize(held + len, 0);
        self.room = self.bytes.split_off(held);
    }

    /// Goes on with a message of which a part is there in a buffer of its own.
    fn begin(&mut self, header: Header) {
        let mut buffer = self.kept_for(header.size);
        let filled = self.bytes.len();
        if buffer.len() < filled {
            buffer.resize(filled, 0);
        }
        buffer[..filled].copy_from_slice(&self.bytes);
        self.bytes.clear();
        // It says nothing of messages that are not long.
        self.is_full = false;
        self.long = Some(Long {
            header,
            buffer,
            filled,
        });
    }

    /// The buffer of the last long message, here or on this thread, if nobody holds it and it is not far too long.
    fn kept_for(&mut self, size: usize) -> BytesMut {
        let kept = self.take_kept();
        if kept.len() / 4 > size {
            return BytesMut::new();
        }
        // As much as has really come before may be reserved at once, also if somebody holds that.
        kept.try_into_mut()
            .unwrap_or_else(|held| BytesMut::zeroed(held.len().min(size)))
    }

    fn take_kept(&mut self) -> Bytes {
        match self.kept.is_empty() {
            false => std::mem::take(&mut self.kept),
            true => buffer_pool::take(&LONG).unwrap_or_default(),
        }
    }

    fn finish(&mut self, long: Long) -> Message {
        let buffer = long.buffer.freeze();
        let bytes = buffer.slice(..long.header.size);
        self.expected = 0;
        if buffer.len() <= KEPT_MAX && buffer.len() / 4 <= long.header.size {
            self.expected = long.header.size;
            self.kept = buffer;
        }
        Message {
            header: long.header,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests;
