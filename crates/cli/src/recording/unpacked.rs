//! Unpacks the compressed chunks of an MCAP file on the way to its reader.
//!
//! Crate `mcap` could decompress by itself. But what it then does with a damaged chunk is a panic or a loop without
//! an end. Here, a chunk that others have compressed becomes the chunk that it was before.
//!
//! ```text
//! chunk   | 6 | length | start | end | uncompressed size | crc | compression | data length | data | padding |
//! bytes     1   8        8       8     8                   4     4 + name      8             ...
//! ```
//!
//! Source: MCAP specification, "Records" and "Chunk (op=0x06)".

use std::io::{self, ErrorKind, Read};

/// An MCAP file whose chunks are not compressed.
pub(super) struct Unpacked<R> {
    input: R,
    /// Bytes of the input that pass as they are, before anything else is looked at.
    pass: u64,
    /// Bytes that come before them.
    ready: Vec<u8>,
    /// How many of these were given out.
    given: usize,
}

/// The length of a file's magic bytes.
const MAGIC_LEN: u64 = 8;
/// The length of a record's head: its kind and the length of its content.
const RECORD_HEAD_LEN: usize = 9;
/// The kind of a chunk.
const CHUNK: u8 = 6;
/// The length of a chunk's head up to the name of its compression, which begins with its length.
const CHUNK_HEAD_LEN: usize = 32;
/// A longer name is that of no compression.
const COMPRESSION_LEN_MAX: usize = 64;

/// A chunk is in memory as a whole. MCAP's tools make chunks of less than 10 MB.
const CHUNK_LEN_MAX: u64 = 256 << 20;

impl<R: Read> Unpacked<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            pass: MAGIC_LEN,
            ready: Vec::new(),
            given: 0,
        }
    }

    /// Looks at the next record. What it becomes is then `ready`; its rest may pass.
    fn next_record(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        if !self.read_head(RECORD_HEAD_LEN)? {
            return Ok(());
        }
        let len = number(&self.ready, 1);
        if self.ready[0] != CHUNK {
            self.pass = len;
            return Ok(());
        }
        if !self.read_head(CHUNK_HEAD_LEN)? {
            return Ok(());
        }
        let name_len = RECORD_HEAD_LEN + CHUNK_HEAD_LEN - 4;
        let name_len = self.ready[name_len..].try_into().expect("four bytes");
        let name_len = u32::from_le_bytes(name_len) as usize;
        let rest_len = len.checked_sub((CHUNK_HEAD_LEN + name_len + 8) as u64);
        let Some(rest_len) = rest_len.filter(|_| name_len <= COMPRESSION_LEN_MAX) else {
            // The reader says what is wrong with it.
            self.pass = u64::MAX;
            return Ok(());
        };
        if !self.read_head(name_len + 8)? {
            return Ok(());
        }
        let name = &self.ready[RECORD_HEAD_LEN + CHUNK_HEAD_LEN..][..name_len];
        let compression = match name {
            b"lz4" => Compression::Lz4,
            b"zstd" => Compression::Zstd,
            _ => {
                self.pass = rest_len;
                return Ok(());
            }
        };
        let packed_len = number(&self.ready, self.ready.len() - 8);
        let padding = rest_len.checked_sub(packed_len);
        let padding = padding.ok_or_else(|| damaged("it is longer than its record"))?;
        self.unpack(compression, packed_len, padding)
    }

    /// Puts an uncompressed chunk in the place of one whose head is `ready`.
    fn unpack(
        &mut self,
        compression: Compression,
        packed_len: u64,
        padding: u64,
    ) -> io::Result<()> {
        let len = number(&self.ready, RECORD_HEAD_LEN + 16);
        if len > CHUNK_LEN_MAX {
            return Err(damaged(format_args!(
                "expected at most {CHUNK_LEN_MAX} bytes when it is unpacked, got {len}"
            )));
        }
        self.ready.truncate(RECORD_HEAD_LEN + CHUNK_HEAD_LEN - 4);
        self.ready.extend(0_u32.to_le_bytes());
        self.ready.extend(len.to_le_bytes());
        let record_len = (CHUNK_HEAD_LEN + 8) as u64 + len;
        self.ready[1..RECORD_HEAD_LEN].copy_from_slice(&record_len.to_le_bytes());
        let head_len = self.ready.len();
        let mut packed = (&mut self.input).take(packed_len);
        // One byte more would be too much.
        let read = match compression {
            Compression::Lz4 => lz4_flex::frame::FrameDecoder::new(&mut packed)
                .take(len + 1)
                .read_to_end(&mut self.ready),
            Compression::Zstd => zstd::stream::read::Decoder::new(&mut packed)
                .and_then(|decoder| decoder.take(len + 1).read_to_end(&mut self.ready)),
        };
        io::copy(&mut packed, &mut io::sink())?;
        if packed.limit() > 0 {
            // The file ends within the chunk, which its reader will see.
            return Ok(());
        }
        read.map_err(damaged)?;
        let unpacked_len = (self.ready.len() - head_len) as u64;
        if unpacked_len != len {
            let is_more = unpacked_len > len;
            return Err(damaged(format_args!(
                "expected {len} bytes when it is unpacked, got {}",
                if is_more { "more" } else { "fewer" }
            )));
        }
        io::copy(&mut (&mut self.input).take(padding), &mut io::sink())?;
        Ok(())
    }

    /// Adds so many bytes to those that are ready. Returns false if the file ends before.
    fn read_head(&mut self, len: usize) -> io::Result<bool> {
        let read = (&mut self.input)
            .take(len as u64)
            .read_to_end(&mut self.ready)?;
        Ok(read == len)
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() && self.pass == 0 {
            self.next_record()?;
        }
        if self.given < self.ready.len() {
            let ready = &self.ready[self.given..];
            let len = ready.len().min(buffer.len());
            buffer[..len].copy_from_slice(&ready[..len]);
            self.given += len;
            return Ok(len);
        }
        let len = usize::try_from(self.pass).unwrap_or(usize::MAX);
        let len = len.min(buffer.len());
        let read = self.input.read(&mut buffer[..len])?;
        self.pass -= read as u64;
        Ok(read)
    }
}

#[derive(Clone, Copy)]
enum Compression {
    Lz4,
    Zstd,
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[at..at + 8].try_into();
    u64::from_le_bytes(bytes.expect("eight bytes"))
}

fn damaged(reason: impl std::fmt::Display) -> io::Error {
    let message = format!("it is a damaged MCAP file: a compressed chunk: {reason}");
    io::Error::new(ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a record, a chunk and a record; and what becomes of it.
    fn file(compression: &str, data: &[u8], len: u64) -> Vec<u8> {
        let mut content = vec![7; 16];
        content.extend(len.to_le_bytes());
        content.extend([9; 4]);
        content.extend((compression.len() as u32).to_le_bytes());
        content.extend(compression.as_bytes());
        content.extend((data.len() as u64).to_le_bytes());
        content.extend(data);
        if !compression.is_empty() {
            content.extend(b"padding");
        }
        let record = |kind: u8, content: &[u8]| {
            let mut bytes = vec![kind];
            bytes.extend((content.len() as u64).to_le_bytes());
            bytes.extend(content);
            bytes
        };
        [
            b"magic   ".to_vec(),
            record(1, b"header"),
            record(CHUNK, &content),
            record(2, b"footer"),
        ]
        .concat()
    }

    fn unpacked(file: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Unpacked::new(file).read_to_end(&mut bytes).map(|_| bytes)
    }

    fn zstd_of(data: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(data, 3).expect("it fits into memory")
    }

    fn lz4_of(data: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        io::copy(&mut &*data, &mut encoder).expect("it fits into memory");
        encoder.finish().expect("it fits into memory")
    }

    #[test]
    fn a_compressed_chunk_becomes_the_chunk_that_it_was() {
        let data = b"some records ".repeat(500);
        let len = data.len() as u64;
        let plain = file("", &data, len);
        assert_eq!(unpacked(&plain).unwrap(), plain);
        assert_eq!(
            unpacked(&file("zstd", &zstd_of(&data), len)).unwrap(),
            plain
        );
        assert_eq!(unpacked(&file("lz4", &lz4_of(&data), len)).unwrap(), plain);
    }

    #[test]
    fn a_chunk_of_another_length_than_it_says_is_refused() {
        let data = b"some records ".repeat(500);
        for wrong in [0, 1, data.len() as u64 - 1, data.len() as u64 + 1] {
            for (name, packed) in [("zstd", zstd_of(&data)), ("lz4", lz4_of(&data))] {
                let error = unpacked(&file(name, &packed, wrong))
                    .unwrap_err()
                    .to_string();
                assert!(error.contains("expected"), "{name} {wrong}: {error}");
            }
        }
        let error = unpacked(&file("zstd", &zstd_of(&data), u64::MAX)).unwrap_err();
        assert!(error.to_string().contains("at most"), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_or_damaged_ends_well() {
        let data: Vec<u8> = (0..3000_u32).flat_map(u32::to_le_bytes).collect();
        for (name, packed) in [("zstd", zstd_of(&data)), ("lz4", lz4_of(&data))] {
            let whole = file(name, &packed, data.len() as u64);
            let unpacked_whole = unpacked(&whole).unwrap();
            for len in (0..whole.len()).step_by(7) {
                let cut = unpacked(&whole[..len]).unwrap();
                // Where the head of the chunk ends, its length says already how long it is as a whole.
                let head_len = (MAGIC_LEN as usize) + 15 + RECORD_HEAD_LEN + CHUNK_HEAD_LEN + 12;
                let is_begun = len < head_len;
                assert!(is_begun || unpacked_whole.starts_with(&cut), "{name} {len}");
            }
            for at in (0..whole.len()).step_by(5) {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x55;
                let _ = unpacked(&damaged);
            }
        }
    }
}
