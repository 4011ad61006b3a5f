//! Appends values to a buffer.

use bytes::Bytes;

use super::buffer::Pieces;
use super::class::GraphWriter;
use super::{ClassFormat, Encapsulation, Encode, EncodeError, EncodingVersion, PIECE_MIN, Sink};

/// Appends encoded values to a buffer.
///
/// Encoding never stops early. If a value cannot be encoded, the encoder notes the error, and [`Encoder::finish`]
/// returns the first one. The bytes are invalid then.
#[derive(Debug)]
pub struct Encoder<'a> {
    buffer: &'a mut Vec<u8>,
    /// The pieces that are not copied into the buffer, if it may have pieces.
    pieces: Option<&'a mut Pieces>,
    encoding: EncodingVersion,
    error: Option<EncodeError>,
    pub(super) class_format: ClassFormat,
    /// True if the current slice has tagged members so far.
    pub(super) has_tagged: bool,
    /// Class instances, created when needed.
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

    /// Length of the whole buffer, including the bytes before this encoder's, but without pieces.
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

    /// Appends shared raw bytes. A [`Buffer`](super::Buffer) does not copy long ones.
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

    /// Appends a size: one byte if it is below 255, otherwise `FF` and a 32-bit integer.
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

    /// Appends a string: its size in bytes, and its UTF-8.
    #[inline]
    pub fn string(&mut self, text: &str) {
        self.size(text.len());
        self.bytes(text.as_bytes());
    }

    /// Appends `len` zeros, and returns them to be filled.
    pub fn reserve(&mut self, len: usize) -> &mut [u8] {
        let start = self.buffer.len();
        self.buffer.resize(start + len, 0);
        &mut self.buffer[start..]
    }

    /// Appends a placeholder for a 32-bit length. Returns its position for [`Encoder::end_len`].
    pub fn begin_len(&mut self) -> usize {
        let position = self.position();
        self.int(0);
        position
    }

    /// Fills a placeholder with the number of bytes since `from`. There are no pieces between the two.
    pub fn end_len(&mut self, placeholder: usize, from: usize) {
        let pieces = self.pieces.as_ref();
        let pieces_len = pieces.map_or(0, |pieces| pieces.len_behind(placeholder));
        let len = self.position() - from + pieces_len;
        let len = self.checked_len("encapsulation", len);
        self.buffer[placeholder..placeholder + 4].copy_from_slice(&len.to_le_bytes());
    }

    /// Appends an encapsulation in the given encoding; `body` writes its payload.
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

    /// Notes that a value could not be encoded. The first error counts.
    pub fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    /// Ends the encoding.
    ///
    /// # Errors
    /// The first value that could not be encoded.
    #[inline]
    pub fn finish(self) -> Result<(), EncodeError> {
        // In a function of its own, because the compiler would otherwise call the destructor of a graph even where
        // there is none.
        if let Some(graph) = self.graph {
            drop(graph);
        }
        self.error.map_or(Ok(()), Err)
    }

    /// Replaces a byte that was written earlier.
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
