//! Appends values to bytes.

use super::ByteOrder;

/// Writes values, in one byte order. Alignment counts from where it began.
#[derive(Debug)]
pub struct Encoder<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
    order: ByteOrder,
}

impl<'a> Encoder<'a> {
    /// An encoder that appends to `bytes`.
    pub fn new(bytes: &'a mut Vec<u8>, order: ByteOrder) -> Self {
        let start = bytes.len();
        Self {
            bytes,
            start,
            order,
        }
    }

    /// The byte order.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// How many bytes this encoder has written.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Returns true if nothing is written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends zeros up to the next multiple of `alignment`, a power of two.
    pub fn align(&mut self, alignment: usize) {
        let len = self.len().next_multiple_of(alignment);
        self.bytes.resize(self.start + len, 0);
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends an octet.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends 16 bits, without alignment.
    pub fn u16(&mut self, value: u16) {
        let bytes = match self.order {
            ByteOrder::Big => value.to_be_bytes(),
            ByteOrder::Little => value.to_le_bytes(),
        };
        self.bytes(&bytes);
    }

    /// Appends 32 bits, without alignment.
    pub fn u32(&mut self, value: u32) {
        let bytes = match self.order {
            ByteOrder::Big => value.to_be_bytes(),
            ByteOrder::Little => value.to_le_bytes(),
        };
        self.bytes(&bytes);
    }

    /// Appends 32 bits with a sign, without alignment.
    pub fn i32(&mut self, value: i32) {
        self.u32(value.cast_unsigned());
    }

    /// Appends a CDR string: its length with the zero at its end, aligned to 4, and its bytes.
    ///
    /// # Panics
    /// If it is longer than 4 GiB; all our strings have limits far below.
    pub fn string(&mut self, text: &str) {
        self.align(4);
        let len = u32::try_from(text.len() + 1).expect("a string is shorter than 4 GiB");
        self.u32(len);
        self.bytes(text.as_bytes());
        self.u8(0);
    }

    /// Overwrites 16 bits at `offset`, counted from where this encoder began.
    ///
    /// # Panics
    /// If they are not written yet.
    pub fn set_u16(&mut self, offset: usize, value: u16) {
        let bytes = match self.order {
            ByteOrder::Big => value.to_be_bytes(),
            ByteOrder::Little => value.to_le_bytes(),
        };
        let at = self.start + offset;
        self.bytes[at..at + 2].copy_from_slice(&bytes);
    }
}
