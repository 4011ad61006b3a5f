//! Writing values, each in its shortest form.

use super::Symbol;

/// Appends values to bytes.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Appends to bytes that are there.
    pub fn appending_to(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Bytes as they are: an encoded value, or what follows values.
    pub fn encoded(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Null.
    pub fn null(&mut self) {
        self.byte(0x40);
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.byte(if value { 0x41 } else { 0x42 });
    }

    /// An unsigned byte.
    pub fn ubyte(&mut self, value: u8) {
        self.encoded(&[0x50, value]);
    }

    /// An unsigned number of 16 bits.
    pub fn ushort(&mut self, value: u16) {
        self.byte(0x60);
        self.encoded(&value.to_be_bytes());
    }

    /// An unsigned number of 32 bits.
    pub fn uint(&mut self, value: u32) {
        match value {
            0 => self.byte(0x43),
            1..=0xFF => self.encoded(&[0x52, value as u8]),
            _ => {
                self.byte(0x70);
                self.encoded(&value.to_be_bytes());
            }
        }
    }

    /// An unsigned number of 64 bits.
    pub fn ulong(&mut self, value: u64) {
        match value {
            0 => self.byte(0x44),
            1..=0xFF => self.encoded(&[0x53, value as u8]),
            _ => {
                self.byte(0x80);
                self.encoded(&value.to_be_bytes());
            }
        }
    }

    /// The descriptor of the value that is written next.
    pub fn descriptor(&mut self, code: u64) {
        self.byte(0x00);
        self.ulong(code);
    }

    /// Bytes with a length in front.
    pub fn binary(&mut self, value: &[u8]) {
        self.variable(0xA0, value);
    }

    /// A text.
    pub fn string(&mut self, value: &str) {
        self.variable(0xA1, value.as_bytes());
    }

    /// A symbol.
    pub fn symbol(&mut self, value: &Symbol) {
        self.variable(0xA3, value.as_str().as_bytes());
    }

    /// `code` is that of the short form; the long one is 0x10 above.
    fn variable(&mut self, code: u8, value: &[u8]) {
        match u8::try_from(value.len()) {
            Ok(len) => self.encoded(&[code, len]),
            Err(_) => {
                self.byte(code + 0x10);
                self.encoded(&len_u32(value.len()).to_be_bytes());
            }
        }
        self.encoded(value);
    }

    /// A list; `write` writes its values and returns how many.
    pub fn list(&mut self, write: impl FnOnce(&mut Self) -> u32) {
        let start = self.len();
        self.compound(0xC0, write);
        if self.bytes[start..] == [0xC0, 1, 0] {
            self.truncate(start);
            self.byte(0x45);
        }
    }

    /// A map; `write` writes its keys and values in turn, and returns how many of both.
    pub fn map(&mut self, write: impl FnOnce(&mut Self) -> u32) {
        self.compound(0xC1, write);
    }

    /// An array; `write` writes the constructor and then the elements without one, and returns how many elements.
    pub(super) fn array(&mut self, write: impl FnOnce(&mut Self) -> u32) {
        self.compound(0xE0, write);
    }

    /// `code` is that of the short form; the long one is 0x10 above.
    fn compound(&mut self, code: u8, write: impl FnOnce(&mut Self) -> u32) {
        let start = self.len();
        self.encoded(&[code + 0x10, 0, 0, 0, 0, 0, 0, 0, 0]);
        let count = write(self);
        let contents_len = self.len() - start - WIDE_HEAD_LEN;
        if count <= 0xFF && contents_len < 0xFF {
            let head = [code, contents_len as u8 + 1, count as u8];
            self.bytes[start..start + 3].copy_from_slice(&head);
            self.bytes.drain(start + 3..start + WIDE_HEAD_LEN);
        } else {
            let size = len_u32(contents_len + 4).to_be_bytes();
            self.bytes[start + 1..start + 5].copy_from_slice(&size);
            self.bytes[start + 5..start + 9].copy_from_slice(&count.to_be_bytes());
        }
    }
}

/// Constructor, size and count of a compound in its long form.
const WIDE_HEAD_LEN: usize = 9;

/// A length as AMQP writes it.
///
/// # Panics
/// If a program writes a value of 4 GiB, which AMQP cannot.
fn len_u32(len: usize) -> u32 {
    u32::try_from(len).expect("a value of AMQP is shorter than 4 GiB")
}
