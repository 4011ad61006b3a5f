//! Appending values to a buffer.

use bytes::Bytes;

use super::buffer::Pieces;
use super::class::GraphWriter;
use super::{ClassFormat, Encapsulation, Encode, EncodeError, EncodingVersion, PIECE_MIN, Sink};

/// Appends encoded values to a buffer.
///
/// Encoding itself cannot be interrupted; what cannot be encoded is remembered, and
/// [`Encoder::finish`] tells the first such value. Bytes written after it have no meaning.
#[derive(Debug)]
pub struct Encoder<'a> {
    buffer: &'a mut Vec<u8>,
    /// What stands between the bytes of the buffer without a copy, if that may be.
    pieces: Option<&'a mut Pieces>,
    encoding: EncodingVersion,
    error: Option<EncodeError>,
    pub(super) class_format: ClassFormat,
    /// Whether the slice that is being written has tagged members so far.
    pub(super) has_tagged: bool,
    /// Class instances; made when it is needed.
    graph: Option<Box<GraphWriter>>,
}

impl<'a> Encoder<'a> {
    /// An encoder that appends to `buffer`.
    #[inline]
    pub fn new(buffer: &'a mut impl Sink, encoding: EncodingVersion) -> Self {
        let (buffer, pieces) = buffer.split();
        Self {
            buffer,
            pieces,
            encoding,
            error: None,
            class_format: ClassFormat::default(),
            has_tagged: false,
            graph: None,
        }
    }

    /// The encoding of the encapsulation that is being written.
    #[inline]
    pub fn encoding(&self) -> EncodingVersion {
        self.encoding
    }

    /// Length of the whole buffer, bytes before this encoder's included, and no pieces.
    #[inline]
    pub fn position(&self) -> usize {
        self.buffer.len()
    }

    /// Appends a value.
    #[inline]
    pub fn put<T: Encode + ?Sized>(&mut self, value: &T) {
        value.encode(self);
    }

    /// Appends raw bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Appends raw bytes that others hold, too: a [`Buffer`](super::Buffer) gets long ones without a copy.
    pub fn shared_bytes(&mut self, bytes: &Bytes) {
        match &mut self.pieces {
            Some(pieces) if bytes.len() >= PIECE_MIN => {
                pieces.push(self.buffer.len(), bytes.clone());
            }
            _ => self.bytes(bytes),
        }
    }

    /// Appends one byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.buffer.push(byte);
    }

    /// Appends a fixed 32-bit integer.
    #[inline]
    pub fn int(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a size: one byte below 255, else `FF` and a 32-bit integer.
    ///
    /// Source: Ice manual, "Basic Data Encoding". Vectors: `tests/vectors/sizes.json`.
    #[inline]
    pub fn size(&mut self, size: usize) {
        if size < 255 {
            self.byte(size as u8);
        } else {
            let size = self.checked_len("sequence", size);
            self.byte(255);
            self.int(size);
        }
    }

    /// Appends a string: its size in bytes, then its UTF-8.
    #[inline]
    pub fn string(&mut self, text: &str) {
        self.size(text.len());
        self.bytes(text.as_bytes());
    }

    /// Appends `len` zeros and returns them for filling.
    pub fn reserve(&mut self, len: usize) -> &mut [u8] {
        let start = self.buffer.len();
        self.buffer.resize(start + len, 0);
        &mut self.buffer[start..]
    }

    /// Appends a placeholder for a 32-bit length and returns its position for [`Encoder::end_len`].
    pub fn begin_len(&mut self) -> usize {
        let position = self.position();
        self.int(0);
        position
    }

    /// Fills a placeholder with the number of bytes from `from` up to now. What stands between the two
    /// has no pieces.
    pub fn end_len(&mut self, placeholder: usize, from: usize) {
        let pieces = self.pieces.as_ref();
        let pieces_len = pieces.map_or(0, |pieces| pieces.len_behind(placeholder));
        let len = self.position() - from + pieces_len;
        let len = self.checked_len("encapsulation", len);
        self.buffer[placeholder..placeholder + 4].copy_from_slice(&len.to_le_bytes());
    }

    /// Appends an encapsulation with what `body` writes, in the given encoding.
    pub fn encapsulation(
        &mut self,
        encoding: EncodingVersion,
        body: impl FnOnce(&mut Encoder<'_>),
    ) {
        let outer = std::mem::replace(&mut self.encoding, encoding);
        let outer_graph = self.graph.take();
        let outer_tagged = std::mem::take(&mut self.has_tagged);
        let outer_format = self.class_format;
        let start = self.position();
        self.bytes(&Encapsulation::header(encoding, 0));
        body(self);
        self.end_len(start, start);
        self.encoding = outer;
        if self.graph.is_some() || outer_graph.is_some() {
            self.graph = outer_graph;
        }
        self.has_tagged = outer_tagged;
        self.class_format = outer_format;
    }

    /// Remembers that a value could not be encoded; the first one counts.
    pub fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    /// Ends the encoding.
    ///
    /// # Errors
    /// The first value that had no encoding.
    #[inline]
    pub fn finish(self) -> Result<(), EncodeError> {
        // Said apart, since the compiler would call what drops a graph where there is none, too.
        if let Some(graph) = self.graph {
            drop(graph);
        }
        self.error.map_or(Ok(()), Err)
    }

    /// Replaces a byte that was written.
    pub(super) fn patch(&mut self, position: usize, byte: u8) {
        self.buffer[position] = byte;
    }

    pub(super) fn graph(&mut self) -> &mut GraphWriter {
        self.graph.get_or_insert_default()
    }

    fn checked_len(&mut self, what: &'static str, len: usize) -> i32 {
        i32::try_from(len).unwrap_or_else(|_| {
            self.fail(EncodeError::TooLong { what, len });
            0
        })
    }
}
