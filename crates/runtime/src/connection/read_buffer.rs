//! The read buffer of a connection: bytes that have been read and are not yet messages, and room for more.

use bytes::{Buf, Bytes, BytesMut};
use floe_wire::connection as wire;
use floe_wire::message::{HEADER_LEN, Header, Message};

use super::buffer_pool::{self, BufferPool};

/// The read buffer of a connection.
///
/// Bytes that were read and the room behind them share one allocation. Messages are split off at the front without a
/// copy. The room is initialised once, not for each read. A long message is read into a buffer of its own, which is
/// reused once the message is dropped. The next read then goes straight into that buffer, because long messages tend to
/// follow each other with about the same length. While there is nothing to read, the connection gives its room away,
/// and its thread keeps one long buffer for the next connection that reads.
#[derive(Debug, Default)]
pub(super) struct ReadBuffer {
    bytes: BytesMut,
    room: BytesMut,
    read_len: usize,
    /// True if the last read filled the room.
    is_full: bool,
    /// The long message that is being read into a buffer of its own.
    long: Option<Long>,
    /// The buffer of the last long message; empty if it is not worth keeping.
    kept: Bytes,
    /// An unused long buffer to read into, while a long message is expected next.
    ahead: Option<BytesMut>,
    /// The expected length of the next message: the length of the last one if it was long, else 0.
    expected: usize,
}

thread_local! {
    /// The last long buffer of a connection that now waits. If each connection kept its own, a client with one long
    /// message on each of many connections would spend most of its memory on them.
    static LONG: BufferPool<Bytes> = const { BufferPool::new(Vec::new()) };
}

/// Room for a read if the length of the next message is unknown.
const READ_LEN_MIN: usize = 8 * 1024;
/// Most room that is kept ready for small messages.
const READ_LEN_MAX: usize = 256 * 1024;
/// Most bytes that one read may fetch into the buffer of an expected long message: as many as for small messages.
const AHEAD_MAX: usize = READ_LEN_MAX;
/// Longest buffer of a long message that is kept.
const KEPT_MAX: usize = 16 * 1024 * 1024;

/// Messages from this length on get a buffer of their own.
const LONG_MIN: usize = 32 * 1024;

/// Long buffers that are reused begin at a cache line. Allocators put long blocks 16 bytes behind the start of a page, and AMD
/// processors copy into such a place at a quarter of their speed if the source begins at the start of a page, as in the
/// buffers of sockets (ADR 105).
const ALIGNMENT: usize = 64;

impl ReadBuffer {
    /// Returns how many bytes of the next message have been read.
    pub(super) fn len(&self) -> usize {
        self.long
            .as_ref()
            .map_or(self.bytes.len(), |long| long.filled)
    }

    /// Returns the memory that is held for the next message while the rest of it has not come.
    pub(super) fn memory(&self) -> usize {
        match &self.long {
            Some(long) => long.buffer.len(),
            None => self.bytes.len() + self.room.len(),
        }
    }

    /// Returns how many bytes must have been read before the next message can be taken.
    pub(super) fn needed(&self, size_max: usize) -> usize {
        match &self.long {
            Some(long) => long.header.size,
            None => Message::needed(&self.bytes, size_max),
        }
    }

    /// Returns the bytes read so far, if they may hold a whole message.
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

    /// Returns the room to read into. A header alone reserves next to nothing: the room grows with the bytes that
    /// really arrive. Room that is left is used first: while any message of the allocation is still held, new room
    /// would need a new allocation.
    #[inline]
    pub(super) fn room(&mut self, size_max: usize) -> &mut [u8] {
        match self.is_ready() {
            true => &mut self.room,
            false => self.make_ready(size_max),
        }
    }

    fn make_ready(&mut self, size_max: usize) -> &mut [u8] {
        if self.long.is_none() && self.bytes.is_empty() && self.prepare_ahead() {
            return self
                .ahead
                .as_mut()
                .map_or(&mut [], |ahead| &mut ahead[..self.expected.min(AHEAD_MAX)]);
        }
        if self.long.is_none() {
            let header = self.bytes.first_chunk::<HEADER_LEN>();
            // A bad header ends the connection as soon as it is split off.
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

    /// Returns true if the room can be used as it is and nothing of the next message has been read. That is nearly
    /// always so if requests or replies come one at a time.
    #[inline]
    fn is_ready(&self) -> bool {
        self.is_between()
            && self.expected == 0
            && !self.is_full
            && self.room.len() >= READ_LEN_MIN / 4
    }

    /// Returns true if no message has begun, so that the next read goes into the room.
    #[inline]
    fn is_between(&self) -> bool {
        self.bytes.is_empty() && self.long.is_none() && self.ahead.is_none()
    }

    /// Returns the `count` bytes just read into the room, if the read buffer holds nothing else. They do not count as
    /// read yet.
    #[inline]
    pub(super) fn single(&self, count: usize) -> Option<&[u8]> {
        match self.is_between() {
            true => self.room.get(..count),
            false => None,
        }
    }

    /// Takes these bytes off as a message.
    #[inline]
    pub(super) fn take_single(&mut self, count: usize) -> Bytes {
        self.cut_room(count).freeze()
    }

    /// Counts `count` bytes of the room as read.
    pub(super) fn filled(&mut self, count: usize, size_max: usize) {
        if let Some(long) = &mut self.long {
            long.filled += count;
            return;
        }
        if let Some(ahead) = self.ahead.take() {
            return self.filled_ahead(ahead, count, size_max);
        }
        let read = self.cut_room(count);
        // The two parts are neighbours in memory, so this copies nothing.
        self.bytes.unsplit(read);
    }

    /// Splits off the bytes just read.
    #[inline]
    fn cut_room(&mut self, count: usize) -> BytesMut {
        self.learn(count);
        self.room.split_to(count)
    }

    /// Adapts the size of the room to a read of `count` bytes. Unless those bytes are split off, the next read
    /// overwrites them.
    #[inline]
    pub(super) fn learn(&mut self, count: usize) {
        let read_len = self.read_len.max(READ_LEN_MIN);
        self.is_full = count == self.room.len();
        if count < read_len / 8 {
            self.read_len = (read_len / 2).max(READ_LEN_MIN);
        }
    }

    /// Returns the first `LEN` bytes of the room, if at most that many were just read into it. A copy of a fixed length
    /// is cheap.
    #[cfg(unix)]
    #[inline]
    pub(super) fn start_of_room<const LEN: usize>(&self, count: usize) -> Option<&[u8; LEN]> {
        match count <= LEN {
            true => self.room.first_chunk(),
            false => None,
        }
    }

    /// Prepares the buffer of the last long message for the next read, if a long message is expected and the buffer is
    /// free. Returns true if it did.
    fn prepare_ahead(&mut self) -> bool {
        if self.expected > 0 && self.ahead.is_none() {
            let kept = self.take_kept();
            match kept.try_into_mut() {
                Ok(kept) if kept.len() >= self.expected => self.ahead = Some(aligned(kept)),
                Ok(kept) => self.kept = kept.freeze(),
                Err(kept) => self.kept = kept,
            }
        }
        self.ahead.is_some()
    }

    /// Handles bytes that were read into the buffer of the last long message. They are the start of the next
    /// long message. If that message is short, or more bytes follow it, they move to the room.
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

    /// Takes over the room for the next read, if it has none.
    pub(super) fn take_room(&mut self, room: &mut BytesMut) {
        if self.room.is_empty() && self.bytes.is_empty() {
            std::mem::swap(&mut self.room, room);
        }
    }

    /// Gives the long buffer back, and the room unless a message has begun, because there is nothing to read.
    pub(super) fn give_back(&mut self, room: &mut BytesMut) {
        self.return_long_buffer();
        if self.bytes.is_empty() && self.long.is_none() {
            // An empty buffer, even without capacity, may still hold the allocation.
            self.bytes = BytesMut::new();
            *room = std::mem::take(&mut self.room);
        }
    }

    /// Gives the long buffer back.
    #[inline]
    pub(super) fn return_long_buffer(&mut self) {
        if self.has_long_buffer() {
            self.put_back_long();
        }
    }

    fn put_back_long(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            self.kept = ahead.freeze();
        }
        buffer_pool::put_back(&LONG, 1, std::mem::take(&mut self.kept));
    }

    /// Returns true if it keeps a long buffer.
    #[inline]
    pub(super) fn has_long_buffer(&self) -> bool {
        !self.kept.is_empty() || self.ahead.is_some()
    }

    /// Drops the long buffers of this connection and this thread, because nothing has come for a while.
    pub(super) fn drop_long_buffers(&mut self) {
        self.kept = Bytes::new();
        self.ahead = None;
        buffer_pool::take(&LONG);
    }

    fn make_room(&mut self, len: usize) {
        // Once joined, the allocation is reused from its start, unless a message still holds a part of it.
        let held = self.bytes.len();
        let room = std::mem::take(&mut self.room);
        self.bytes.unsplit(room);
        self.bytes.resize(held + len, 0);
        self.room = self.bytes.split_off(held);
    }

    /// Moves on to a long message: its first part goes into a buffer of its own.
    fn begin(&mut self, header: Header) {
        let mut buffer = self.kept_for(header.size);
        let filled = self.bytes.len();
        if buffer.len() < filled {
            buffer.resize(filled, 0);
        }
        buffer[..filled].copy_from_slice(&self.bytes);
        self.bytes.clear();
        // The read of a long message says nothing about the room for small ones.
        self.is_full = false;
        self.long = Some(Long {
            header,
            buffer,
            filled,
        });
    }

    /// Returns the buffer of the last long message, from here or from this thread, if it is free and not far too long.
    fn kept_for(&mut self, size: usize) -> BytesMut {
        let kept = self.take_kept();
        if kept.len() / 4 > size {
            return BytesMut::new();
        }
        // A length that has really come before may be reserved immediately, even if that buffer is still held.
        let kept = kept.try_into_mut();
        aligned(kept.unwrap_or_else(|held| BytesMut::zeroed(held.len().min(size))))
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

/// Returns an unused buffer, or another one of its length, that begins at a multiple of [`ALIGNMENT`].
fn aligned(buffer: BytesMut) -> BytesMut {
    let len = buffer.len();
    if len < LONG_MIN || buffer.as_ptr().align_offset(ALIGNMENT) == 0 {
        return buffer;
    }
    let mut aligned = BytesMut::zeroed(len + ALIGNMENT);
    aligned.advance(aligned.as_ptr().align_offset(ALIGNMENT));
    aligned.truncate(len);
    aligned
}

/// A long message, partly read.
#[derive(Debug)]
struct Long {
    header: Header,
    /// Grows with the bytes that arrive, unless it is a kept buffer.
    buffer: BytesMut,
    filled: usize,
}

impl Long {
    /// Returns the room for the rest of the message.
    fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            let len = (self.filled * 2).max(LONG_MIN);
            self.buffer.resize(len.min(self.header.size), 0);
        }
        let end = self.buffer.len().min(self.header.size);
        &mut self.buffer[self.filled..end]
    }
}

#[cfg(test)]
mod tests;
