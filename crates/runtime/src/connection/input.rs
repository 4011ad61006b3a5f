//! Bytes that have been read and are not yet messages, and room for more.

use bytes::BytesMut;

/// The input of a connection.
///
/// Read bytes and the room behind them are neighbours in one allocation, of which messages are cut
/// off at the front without a copy. The room is initialised once and not for each read.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: BytesMut,
    room: BytesMut,
    read_len: usize,
}

/// Room for a read when nothing is known of the next message.
const READ_LEN_MIN: usize = 4 * 1024;
/// The most room that is kept ready for small messages.
const READ_LEN_MAX: usize = 256 * 1024;

impl Input {
    /// What has been read. Whole messages may be split off it.
    pub(super) fn bytes(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// Where to read to, for a next message that needs `missing` bytes more. A header alone reserves
    /// nothing: the room grows with what really arrives. One with some room left is used as it is,
    /// for a new one would have to be allocated as long as anybody holds a part of the old one.
    pub(super) fn room(&mut self, missing: usize) -> &mut [u8] {
        let read_len = self.read_len.max(READ_LEN_MIN);
        let growth_max = read_len.max(self.bytes.len());
        if self.room.len() < missing.clamp(READ_LEN_MIN / 4, growth_max) {
            self.make_room(missing.clamp(read_len, growth_max));
        }
        &mut self.room
    }

    /// Takes `count` bytes of the room as read.
    pub(super) fn filled(&mut self, count: usize) {
        let read_len = self.read_len.max(READ_LEN_MIN);
        if count == self.room.len() {
            self.read_len = (read_len * 2).min(READ_LEN_MAX);
        } else if count < read_len / 8 {
            self.read_len = (read_len / 2).max(READ_LEN_MIN);
        }
        let read = self.room.split_to(count);
        // They are neighbours, so this copies nothing.
        self.bytes.unsplit(read);
    }

    fn make_room(&mut self, len: usize) {
        // Joined again, the allocation is used from its start if nobody holds a part of it.
        let held = self.bytes.len();
        let room = std::mem::take(&mut self.room);
        self.bytes.unsplit(room);
        self.bytes.resize(held + len, 0);
        self.room = self.bytes.split_off(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &mut Input, bytes: &[u8]) {
        let room = input.room(1);
        room[..bytes.len()].copy_from_slice(bytes);
        input.filled(bytes.len());
    }

    #[test]
    fn what_is_read_in_pieces_is_whole() {
        let mut input = Input::default();
        for piece in [&b"one "[..], b"two ", b"three"] {
            read(&mut input, piece);
        }
        assert_eq!(input.bytes(), "one two three");
        assert_eq!(input.bytes().split_to(4), "one ");
        read(&mut input, b" four");
        assert_eq!(input.bytes(), "two three four");
    }

    #[test]
    fn the_same_allocation_serves_as_long_as_nobody_holds_a_part_of_it() {
        let mut input = Input::default();
        read(&mut input, b"message");
        let start = input.bytes().as_ptr();
        for _ in 0..100_000 {
            let message = input.bytes().split_to(7).freeze();
            assert_eq!(message, "message");
            drop(message);
            read(&mut input, b"message");
        }
        let distance = input.bytes().as_ptr() as usize - start as usize;
        assert!(distance < READ_LEN_MIN, "it moved by {distance}");
    }

    #[test]
    fn a_part_that_is_held_stays_as_it_is() {
        let mut input = Input::default();
        read(&mut input, b"held");
        let held = input.bytes().split_to(4).freeze();
        for _ in 0..10_000 {
            read(&mut input, b"other");
            input.bytes().clear();
        }
        assert_eq!(held, "held");
    }

    #[test]
    fn many_bytes_at_once_make_more_room() {
        let mut input = Input::default();
        for _ in 0..20 {
            let len = input.room(1).len();
            input.filled(len);
            input.bytes().clear();
        }
        assert_eq!(input.room(1).len(), READ_LEN_MAX);
        assert!(input.room(1 << 30).len() <= READ_LEN_MAX);
    }
}
