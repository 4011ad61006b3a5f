//! Encoded bytes for output, in which long shared bytes are not copied.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::iter::once;

use bytes::{Buf, Bytes};

/// Shared bytes of at least this length are not copied into a [`Buffer`]. To copy fewer costs little, and they could
/// keep a much larger message in memory.
pub const PIECE_MIN: usize = 16 * 1024;

/// Where encoded values are appended: a vector, which copies every byte, or a [`Buffer`].
pub trait Sink {
    /// The vector, and the pieces that are not copied into it, if it may have pieces.
    #[doc(hidden)]
    fn split(&mut self) -> (&mut Vec<u8>, Option<&mut Pieces>);
}

impl Sink for Vec<u8> {
    #[inline]
    fn split(&mut self) -> (&mut Vec<u8>, Option<&mut Pieces>) {
        (self, None)
    }
}

impl Sink for Buffer {
    #[inline]
    fn split(&mut self) -> (&mut Vec<u8>, Option<&mut Pieces>) {
        let pieces = (!self.is_joined).then_some(&mut self.pieces);
        (&mut self.bytes, pieces)
    }
}

/// Encoded bytes, with long shared pieces between them.
///
/// ```text
/// bytes:   | header ... size | more ... |
/// pieces:                    ^ at       ^ at
/// ```
///
/// As a [`Buf`] it yields all bytes in order, and releases each piece when it has been taken. After bytes have been
/// taken, nothing may be appended before [`Buffer::clear`].
///
/// ```
/// use bytes::{Buf, Bytes};
/// use floe_wire::encoding::{Buffer, PIECE_MIN};
/// use floe_wire::{Encoder, EncodingVersion};
///
/// let long = Bytes::from(vec![7; PIECE_MIN]);
/// let mut buffer = Buffer::default();
/// Encoder::new(&mut buffer, EncodingVersion::V1_1).put(&long);
/// assert_eq!(buffer.bytes_mut().len(), 5, "the size alone");
/// assert_eq!(buffer.remaining(), 5 + PIECE_MIN);
/// ```
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// The number of bytes that were taken.
    taken: usize,
    pieces: Pieces,
    /// True if pieces are copied into the bytes.
    is_joined: bool,
}

/// Shared bytes between the bytes of a buffer.
#[derive(Debug, Default)]
pub struct Pieces {
    /// In the order of their positions.
    list: VecDeque<Piece>,
    /// The total length of all pieces.
    len: usize,
}

#[derive(Debug)]
struct Piece {
    /// The position in the bytes of the buffer before which the piece belongs.
    at: usize,
    bytes: Bytes,
}

impl Pieces {
    /// Adds a piece at this position, which is not before that of the last piece.
    #[inline]
    pub(super) fn push(&mut self, at: usize, bytes: Bytes) {
        self.len += bytes.len();
        self.list.push_back(Piece { at, bytes });
    }

    /// The total length of the pieces after a position.
    #[inline]
    pub(crate) fn len_behind(&self, position: usize) -> usize {
        if self.list.is_empty() {
            return 0;
        }
        let behind = self.list.iter().rev();
        let behind = behind.take_while(|piece| piece.at > position);
        behind.map(|piece| piece.bytes.len()).sum()
    }

    /// Drops the pieces after a position.
    pub(crate) fn truncate(&mut self, position: usize) {
        while let Some(piece) = self.list.pop_back_if(|piece| piece.at > position) {
            self.len -= piece.bytes.len();
        }
    }
}

impl Buffer {
    /// A buffer that copies pieces, so that it holds a plain vector.
    pub fn joined() -> Self {
        Self {
            is_joined: true,
            ..Self::default()
        }
    }

    /// The bytes without the pieces, to append to. Bytes before a piece stay there.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes without the pieces.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of bytes, pieces included.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() - self.taken + self.pieces.len
    }

    /// Returns true if the buffer is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if it has pieces, so that its bytes are not one slice.
    #[inline]
    pub fn has_pieces(&self) -> bool {
        !self.pieces.list.is_empty()
    }

    /// Removes what was appended since there were `len` bytes without pieces. A message that began there has no piece
    /// before its header.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
        self.pieces.truncate(len);
    }

    /// Appends another buffer, and leaves it empty.
    pub fn append(&mut self, other: &mut Self) {
        if !other.has_pieces() {
            self.bytes.extend_from_slice(&other.bytes[other.taken..]);
            return other.clear();
        }
        let start = self.bytes.len();
        self.pieces.len += std::mem::take(&mut other.pieces.len);
        let pieces = other.pieces.list.drain(..).map(|piece| Piece {
            at: start + piece.at - other.taken,
            bytes: piece.bytes,
        });
        self.pieces.list.extend(pieces);
        self.bytes.extend_from_slice(&other.bytes[other.taken..]);
        other.clear();
    }

    /// Removes everything, and keeps the memory for bytes.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.taken = 0;
        if self.has_pieces() {
            self.pieces.list.clear();
            self.pieces.len = 0;
        }
    }

    /// Copies the pieces into the bytes, and returns the vector.
    pub fn join(&mut self) -> &mut Vec<u8> {
        if self.has_pieces() || self.taken > 0 {
            let mut joined = Vec::with_capacity(self.len());
            self.chunks()
                .for_each(|chunk| joined.extend_from_slice(chunk));
            self.clear();
            self.bytes = joined;
        }
        &mut self.bytes
    }

    /// Copies everything into a new vector.
    pub fn into_vec(mut self) -> Vec<u8> {
        std::mem::take(self.join())
    }

    /// The parts in order; none of them is empty.
    fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let positions = || self.pieces.list.iter().map(|piece| piece.at);
        let starts = once(self.taken).chain(positions());
        let ends = positions().chain(once(self.bytes.len()));
        let between = starts.zip(ends).map(|(start, end)| &self.bytes[start..end]);
        let pieces = self.pieces.list.iter().map(|piece| &*piece.bytes);
        let chunks = between.zip(pieces.chain(once(&[][..])));
        chunks
            .flat_map(|(bytes, piece)| [bytes, piece])
            .filter(|chunk| !chunk.is_empty())
    }
}

impl Buf for Buffer {
    #[inline]
    fn remaining(&self) -> usize {
        self.len()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        match self.pieces.list.front() {
            None => &self.bytes[self.taken..],
            Some(piece) if piece.at > self.taken => &self.bytes[self.taken..piece.at],
            Some(piece) => &piece.bytes,
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let filled = slices.iter_mut().zip(self.chunks());
        filled
            .map(|(slice, chunk)| *slice = IoSlice::new(chunk))
            .count()
    }

    #[inline]
    fn advance(&mut self, mut count: usize) {
        while let Some(piece) = self.pieces.list.front_mut() {
            let before = piece.at - self.taken;
            if count < before {
                self.taken += count;
                return;
            }
            (self.taken, count) = (piece.at, count - before);
            let of_piece = count.min(piece.bytes.len());
            piece.bytes.advance(of_piece);
            self.pieces.len -= of_piece;
            count -= of_piece;
            if !piece.bytes.is_empty() {
                return;
            }
            self.pieces.list.pop_front();
        }
        assert!(count <= self.bytes.len() - self.taken, "more than is there");
        self.taken += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{Encoder, EncodingVersion, ExceptionFormat, ExceptionWriter};

    const LONG: usize = PIECE_MIN;

    fn long(fill: u8) -> Bytes {
        vec![fill; LONG].into()
    }

    /// Returns the output of `write` as a buffer with pieces and as a vector.
    fn both(write: impl Fn(&mut Encoder<'_>)) -> (Buffer, Vec<u8>) {
        let (mut buffer, mut vector) = (Buffer::default(), Vec::new());
        let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
        write(&mut encoder);
        encoder.finish().unwrap();
        let mut encoder = Encoder::new(&mut vector, EncodingVersion::V1_1);
        write(&mut encoder);
        encoder.finish().unwrap();
        (buffer, vector)
    }

    /// Takes all bytes, `step` at a time, as a transport might.
    fn taken(mut buffer: Buffer, step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while buffer.has_remaining() {
            let mut slices = [IoSlice::new(&[]); 3];
            let count = buffer.chunks_vectored(&mut slices);
            assert_eq!(slices[0].as_ptr_range(), buffer.chunk().as_ptr_range());
            let there = slices[..count].iter().flat_map(|slice| slice.iter());
            let there: Vec<u8> = there.copied().take(step).collect();
            let count = there.len();
            all.extend(there);
            buffer.advance(count);
        }
        assert!(!buffer.has_pieces(), "all of them were let go of");
        all
    }

    #[test]
    fn long_bytes_are_shared_and_short_ones_are_copied() {
        let (short, long) = (long(1).slice(1..), long(2));
        let (buffer, _) = both(|encoder| {
            encoder.put(&short);
            encoder.put(&long);
        });
        assert_eq!(buffer.bytes().len(), 5 + short.len() + 5);
        let chunks: Vec<_> = buffer.chunks().map(<[u8]>::as_ptr).collect();
        assert_eq!(chunks, [buffer.bytes().as_ptr(), long.as_ptr()]);
    }

    #[test]
    fn steps_of_any_size_take_the_bytes_of_a_vector() {
        let write = |encoder: &mut Encoder<'_>| {
            encoder.put(&long(1));
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
                encoder.put(&long(2));
                encoder.tagged(1, Some(&long(3)));
                encoder.put(&7i32);
                encoder.encapsulation(EncodingVersion::V1_0, |encoder| encoder.put(&long(4)));
            });
            [long(5), long(6)].iter().for_each(|long| encoder.put(long));
            encoder.put(&8i64);
        };
        for step in [1, 2, 3, 1000, LONG, LONG + 5, usize::MAX] {
            let (buffer, vector) = both(write);
            assert_eq!(buffer.len(), vector.len());
            assert_eq!(taken(buffer, step), vector, "{step}");
        }
        let (mut buffer, vector) = both(write);
        assert_eq!(*buffer.join(), vector);
    }

    #[test]
    fn slices_of_exceptions_count_the_pieces_in_them() {
        for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
            let (buffer, vector) = both(|encoder| {
                encoder.encapsulation(encoding, |encoder| {
                    let mut writer = ExceptionWriter::new(encoder, ExceptionFormat::Sliced);
                    writer.slice("::M::Derived", false, |encoder| encoder.put(&long(1)));
                    writer.slice("::M::Base", true, |encoder| {
                        encoder.put(&long(2));
                        encoder.tagged(1, Some(&long(3)));
                    });
                });
            });
            assert_eq!(taken(buffer, 100), vector);
        }
    }

    #[test]
    fn truncating_keeps_the_earlier_bytes() {
        let (mut buffer, vector) = both(|encoder| encoder.put(&long(1)));
        let end = buffer.bytes().len();
        let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
        encoder.put(&long(2));
        buffer.truncate(end);
        assert_eq!(taken(buffer, 100), vector);
    }

    #[test]
    fn a_buffer_appended_to_another_keeps_its_pieces() {
        let parts = || both(|encoder| (1..3).for_each(|fill| encoder.put(&long(fill))));
        let ((mut one, vector), (mut other, _)) = (parts(), parts());
        other.advance(3);
        one.append(&mut other);
        assert!(other.is_empty() && !other.has_pieces());
        assert_eq!(one.pieces.list.len(), 4);
        assert_eq!(taken(one, 100), [&vector[..], &vector[3..]].concat());
        let (mut one, mut short) = (parts().0, Buffer::default());
        short.bytes_mut().extend_from_slice(b"short");
        short.advance(1);
        one.append(&mut short);
        assert!(short.is_empty());
        assert_eq!(taken(one, 100), [&vector[..], b"hort"].concat());
    }

    #[test]
    fn a_joined_buffer_has_no_pieces() {
        let mut buffer = Buffer::joined();
        Encoder::new(&mut buffer, EncodingVersion::V1_1).put(&long(1));
        assert_eq!(buffer.bytes().len(), 5 + LONG);
    }
}
