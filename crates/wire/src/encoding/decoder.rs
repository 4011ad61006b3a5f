//! Reads values from a slice.

use std::any::Any;

use bytes::Bytes;

use super::class::GraphReader;
use super::slice::TagScope;
use super::{Decode, DecodeError, DecodeErrorKind, Encapsulation, EncodingVersion, View};

/// Reads encoded values from a slice, never beyond its end.
///
/// Use a clone only to look ahead. It reads on from the same position, but does not know the class instances that were
/// read before, so it must not replace the decoder that it was cloned from.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Added to positions in errors: the start of `bytes` in the whole message.
    origin: usize,
    encoding: EncodingVersion,
    /// The start of the bytes that later elements need at least: see [`Decoder::each`].
    limit: usize,
    context: Option<&'a (dyn Any + Send + Sync)>,
    /// The shared bytes that contain `bytes`, if any.
    owner: Option<&'a Bytes>,
    pub(super) tag_scope: TagScope,
    /// Class instances, created when needed.
    graph: Option<Box<GraphReader<'a>>>,
}

impl<'a> Decoder<'a> {
    /// A decoder over the payload of an encapsulation, or over fields of a message.
    #[inline]
    pub fn new(bytes: &'a [u8], encoding: EncodingVersion) -> Self {
        Self {
            bytes,
            position: 0,
            origin: 0,
            encoding,
            limit: usize::MAX,
            context: None,
            owner: None,
            tag_scope: TagScope::Parameters,
            graph: None,
        }
    }

    /// Sets the context for values that need one: a proxy gets its communicator from it.
    #[must_use]
    #[inline]
    pub fn with_context(mut self, context: &'a (dyn Any + Send + Sync)) -> Self {
        self.context = Some(context);
        self
    }

    /// The context that [`Decoder::with_context`] set.
    pub fn context(&self) -> Option<&'a (dyn Any + Send + Sync)> {
        self.context
    }

    /// Sets the shared bytes that contain the decoder's slice, for example a message. `Bytes` are then decoded
    /// as slices of them, and keep all of them in memory.
    #[must_use]
    #[inline]
    pub fn with_owner(mut self, owner: &'a Bytes) -> Self {
        self.owner = Some(owner);
        self
    }

    /// The encoding of the encapsulation that is being read.
    #[inline]
    pub fn encoding(&self) -> EncodingVersion {
        self.encoding
    }

    /// Bytes not read yet.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Bytes read so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Reads a value.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    #[inline]
    pub fn get<T: Decode>(&mut self) -> Result<T, DecodeError> {
        T::decode(self)
    }

    /// Reads a value into an existing one: see [`Decode::decode_into`].
    ///
    /// # Errors
    /// As [`Decode::decode`].
    #[inline]
    pub fn get_into<T: Decode>(&mut self, value: &mut T) -> Result<(), DecodeError> {
        value.decode_into(self)
    }

    /// Reads a value in place: see [`View`].
    ///
    /// # Errors
    /// As [`Decode::decode`].
    #[inline]
    pub fn view<V: View<'a>>(&mut self) -> Result<V, DecodeError> {
        V::decode_view(self)
    }

    /// Reads `len` raw bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    #[inline]
    pub fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let end = self.position.saturating_add(len);
        let Some(taken) = self.bytes.get(self.position..end) else {
            return Err(self.end_of_data(what, len));
        };
        self.position = end;
        Ok(taken)
    }

    /// Reads `len` raw bytes as a slice of the shared bytes, or as a copy if there are none.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn shared_bytes(&mut self, len: usize, what: &'static str) -> Result<Bytes, DecodeError> {
        let bytes = self.bytes(len, what)?;
        let shared = self.owner.and_then(|owner| {
            let start = bytes.as_ptr().addr().checked_sub(owner.as_ptr().addr())?;
            let is_within = owner.len().checked_sub(start)? >= len;
            is_within.then(|| owner.slice(start..start + len))
        });
        Ok(shared.unwrap_or_else(|| Bytes::copy_from_slice(bytes)))
    }

    /// Reads a fixed number of bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let rest = &self.bytes[self.position..];
        let Some(taken) = rest.first_chunk::<N>() else {
            return Err(self.end_of_data(what, N));
        };
        self.position += N;
        Ok(*taken)
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    #[inline]
    pub fn byte(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        let Some(byte) = self.bytes.get(self.position) else {
            return Err(self.end_of_data(what, 1));
        };
        self.position += 1;
        Ok(*byte)
    }

    /// Reads a fixed 32-bit integer.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    #[inline]
    pub fn int(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.array(what).map(i32::from_le_bytes)
    }

    /// Reads a size. Accepts the five-byte form for small values too.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`], [`DecodeErrorKind::NegativeSize`].
    #[inline]
    pub fn size(&mut self, what: &'static str) -> Result<usize, DecodeError> {
        match self.byte(what)? {
            255 => self.len(what),
            size => Ok(usize::from(size)),
        }
    }

    /// Reads the size of a sequence of elements of at least `min_wire_len` bytes, and checks that enough bytes follow.
    ///
    /// # Errors
    /// As [`Decoder::size`].
    #[inline]
    pub fn count(&mut self, min_wire_len: usize, what: &'static str) -> Result<usize, DecodeError> {
        let start = self.position;
        let count = self.size(what)?;
        let needed = count.saturating_mul(min_wire_len.max(1));
        if needed > self.free() {
            let reserved = self.remaining() - self.free();
            let error = self.end_of_data(what, needed.saturating_add(reserved));
            return Err(DecodeError {
                offset: self.origin + start,
                ..error
            });
        }
        Ok(count)
    }

    /// Reads the elements of a sequence. Calls `read` for each of `count` elements, of at least `min_wire_len` bytes.
    /// [`Decoder::count`] has checked both.
    ///
    /// While one element is read, [`Decoder::count`] does not count the bytes that the later elements need. Otherwise
    /// each level of nested sequences could claim the same bytes, and memory would be allocated for all of them: see
    /// [`VALUE_MEMORY_PER_BYTE`](super::VALUE_MEMORY_PER_BYTE).
    ///
    /// # Errors
    /// As `read`.
    #[inline]
    pub fn each(
        &mut self,
        count: usize,
        min_wire_len: usize,
        mut read: impl FnMut(&mut Self) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let outer = self.limit;
        let end = self.position + self.free();
        let mut limit = end.saturating_sub(count.saturating_mul(min_wire_len));
        for _ in 0..count {
            limit = limit.saturating_add(min_wire_len);
            self.limit = limit;
            read(self)?;
        }
        self.limit = outer;
        Ok(())
    }

    /// The elements of a sequence as an iterator, which ends after the first error; otherwise like [`Decoder::each`].
    pub(super) fn elements<'d, T: Decode>(
        &'d mut self,
        count: usize,
        min_wire_len: usize,
    ) -> impl Iterator<Item = Result<T, DecodeError>> + 'd
    where
        'a: 'd,
    {
        let outer = self.limit;
        let end = self.position + self.free();
        let limit = end.saturating_sub(count.saturating_mul(min_wire_len));
        (1..=count).map(move |index| {
            self.limit = limit.saturating_add(index.saturating_mul(min_wire_len));
            let element = T::decode(self);
            if index == count {
                self.limit = outer;
            }
            element
        })
    }

    /// The unread bytes that no later element needs.
    fn free(&self) -> usize {
        let end = self.limit.min(self.bytes.len());
        end.saturating_sub(self.position)
    }

    /// Reads a fixed 32-bit length that must not be negative.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`], [`DecodeErrorKind::NegativeSize`].
    pub fn len(&mut self, what: &'static str) -> Result<usize, DecodeError> {
        let len = self.int(what)?;
        usize::try_from(len).map_err(|_| self.error(what, DecodeErrorKind::NegativeSize(len)))
    }

    /// Reads a string without copying it.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`], [`DecodeErrorKind::NegativeSize`],
    /// [`DecodeErrorKind::InvalidUtf8`].
    #[inline]
    pub fn str(&mut self, what: &'static str) -> Result<&'a str, DecodeError> {
        let len = self.size(what)?;
        let start = self.position;
        let bytes = self.bytes(len, what)?;
        // Most strings are short and ASCII, for which this takes half the time of `from_utf8`.
        if let Ok(text) = ascii::AsciiStr::from_ascii(bytes) {
            return Ok(text.as_str());
        }
        std::str::from_utf8(bytes).map_err(|error| DecodeError {
            kind: DecodeErrorKind::InvalidUtf8,
            what,
            offset: self.origin + start + error.valid_up_to(),
        })
    }

    /// Reads an encapsulation without opening it.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`], or [`DecodeErrorKind::InvalidValue`] for a size below 6.
    pub fn encapsulation(&mut self) -> Result<Encapsulation<'a>, DecodeError> {
        Encapsulation::read(self)
    }

    /// A decoder for the payload of an encapsulation found at the current position.
    ///
    /// # Errors
    /// As [`Decoder::encapsulation`], and [`DecodeErrorKind::UnsupportedEncoding`].
    pub fn open_encapsulation(&mut self) -> Result<Decoder<'a>, DecodeError> {
        let (context, owner) = (self.context, self.owner);
        let start = self.origin + self.position;
        let encapsulation = self.encapsulation()?;
        let opened = encapsulation.decoder();
        let mut inner = opened.map_err(|error| DecodeError {
            offset: start + ENCODING_POSITION,
            ..error
        })?;
        inner.origin = start + super::ENCAPSULATION_HEADER_LEN;
        inner.context = context;
        inner.owner = owner;
        Ok(inner)
    }

    /// Ends the payload of an encapsulation: skips tagged values that were not asked for (1.1), and checks that nothing
    /// else is left. In 1.0 one surplus byte is accepted, as in Ice.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`].
    #[inline]
    pub fn finish(mut self) -> Result<(), DecodeError> {
        if self.remaining() == 0 {
            return Ok(());
        }
        self.finish_surplus()
    }

    fn finish_surplus(&mut self) -> Result<(), DecodeError> {
        if self.encoding == EncodingVersion::V1_0 {
            return match self.remaining() {
                0 | 1 => Ok(()),
                count => Err(self.error(
                    "end of encapsulation",
                    DecodeErrorKind::TrailingBytes(count),
                )),
            };
        }
        super::tagged::skip_rest(self)
    }

    /// Reads the payload of an encapsulation where no values are expected: the parameters or results of an operation
    /// that has none. In 1.1 any content is skipped; in 1.0 there must be none.
    ///
    /// Source: observed, Ice 3.7.8 for C++.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`].
    #[inline]
    pub fn nothing(&mut self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            count => self.skip_unexpected(count),
        }
    }

    #[cold]
    fn skip_unexpected(&mut self, count: usize) -> Result<(), DecodeError> {
        if self.encoding == EncodingVersion::V1_0 {
            return Err(self.error("empty encapsulation", DecodeErrorKind::TrailingBytes(count)));
        }
        self.seek(self.bytes.len());
        Ok(())
    }

    /// Ends a value without tagged members.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`].
    pub fn finish_exact(self, what: &'static str) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            count => Err(self.error(what, DecodeErrorKind::TrailingBytes(count))),
        }
    }

    /// An error at the current position.
    #[cold]
    pub fn error(&self, what: &'static str, kind: DecodeErrorKind) -> DecodeError {
        self.error_at(self.position, what, kind)
    }

    #[cold]
    fn end_of_data(&self, what: &'static str, needed: usize) -> DecodeError {
        let remaining = self.remaining();
        self.error(what, DecodeErrorKind::EndOfData { needed, remaining })
    }

    /// An error at an earlier position.
    pub(crate) fn error_at(
        &self,
        position: usize,
        what: &'static str,
        kind: DecodeErrorKind,
    ) -> DecodeError {
        DecodeError {
            kind,
            what,
            offset: self.origin + position,
        }
    }

    /// Moves to a position that was found before.
    pub(super) fn seek(&mut self, position: usize) {
        debug_assert!(position <= self.bytes.len(), "within what is read");
        self.position = position;
    }

    /// Replaces the limit that later elements set, for values that are stored elsewhere: see [`Decoder::each`].
    pub(super) fn replace_limit(&mut self, limit: usize) -> usize {
        std::mem::replace(&mut self.limit, limit)
    }

    /// Limits reading to `end`. Returns the limit that [`Decoder::widen`] restores.
    pub(super) fn narrow(&mut self, end: usize) -> &'a [u8] {
        let bytes = self.bytes;
        self.bytes = &bytes[..end];
        bytes
    }

    /// All bytes up to the limit, including those that were read.
    pub(super) fn whole(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn widen(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        std::mem::replace(&mut self.bytes, bytes)
    }

    pub(super) fn replace_tag_scope(&mut self, scope: TagScope) -> TagScope {
        std::mem::replace(&mut self.tag_scope, scope)
    }

    pub(super) fn graph(&mut self) -> &mut GraphReader<'a> {
        self.graph.get_or_insert_default()
    }

    pub(super) fn has_graph(&self) -> bool {
        self.graph.is_some()
    }
}

/// The position of the encoding version in an encapsulation.
const ENCODING_POSITION: usize = 4;

impl Clone for Decoder<'_> {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes,
            position: self.position,
            origin: self.origin,
            encoding: self.encoding,
            limit: self.limit,
            context: self.context,
            owner: self.owner,
            tag_scope: self.tag_scope,
            graph: None,
        }
    }
}

impl std::fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder")
            .field("position", &self.position)
            .field("remaining", &self.remaining())
            .field("encoding", &self.encoding)
            .finish_non_exhaustive()
    }
}
