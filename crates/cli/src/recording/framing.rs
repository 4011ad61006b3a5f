//! Checks how records are framed in the chunks of an MCAP file.
//!
//! Compressed chunks have been unpacked before. Crate `mcap` (0.23.4) subtracts the length of each record from what is left of an uncompressed chunk, and panics if
//! the record is longer. So the bytes of a file are checked before the crate gets them.
//!
//! Source: MCAP specification, "Records" and "Chunk (op=0x06)".

/// Follows the bytes of a file from record to record.
pub(super) struct Framing {
    at: Position,
    /// Bytes that are not looked at before the next head.
    skip: u64,
    /// The part of the next head that has come.
    head: Vec<u8>,
}

/// The part that follows the skipped bytes.
#[derive(Clone, Copy)]
enum Position {
    /// A record of the file.
    Record,
    /// The head of a chunk whose record has this length.
    ChunkHead { len: u64 },
    /// A record in an uncompressed chunk, of which `left` bytes are left. `padding` bytes follow the chunk's data.
    ChunkRecord { left: u64, padding: u64 },
    /// Something that the crate refuses by itself.
    Refused,
}

/// A record in a chunk is longer than the chunk.
#[derive(Debug)]
pub(crate) struct RecordExceedsChunk;

/// The length of a file's magic bytes.
const MAGIC_LEN: u64 = 8;
/// The length of a record's head: its kind and the length of its content.
const RECORD_HEAD_LEN: usize = 9;
/// The kind of a chunk.
const CHUNK: u8 = 6;
/// The length of a chunk's head up to the name of its compression, which begins with its length.
const CHUNK_HEAD_LEN: usize = 32;
/// A longer name of a compression is refused by the crate, which knows none of that length.
const COMPRESSION_LEN_MAX: usize = 64;

impl Framing {
    pub(super) fn new() -> Self {
        Self {
            at: Position::Record,
            skip: MAGIC_LEN,
            head: Vec::new(),
        }
    }

    /// Checks the next bytes of the file.
    ///
    /// # Errors
    /// [`RecordExceedsChunk`]: the crate must not get these bytes.
    pub(super) fn check(&mut self, mut bytes: &[u8]) -> Result<(), RecordExceedsChunk> {
        loop {
            let skipped = self.skip.min(bytes.len() as u64);
            bytes = &bytes[skipped as usize..];
            self.skip -= skipped;
            if self.skip > 0 {
                return Ok(());
            }
            if let Position::ChunkRecord { left: 0, padding } = self.at {
                (self.at, self.skip) = (Position::Record, padding);
                continue;
            }
            while self.head.len() < self.head_len() {
                let missing = self.head_len() - self.head.len();
                let (part, rest) = bytes.split_at(missing.min(bytes.len()));
                self.head.extend_from_slice(part);
                bytes = rest;
                if part.len() < missing {
                    return Ok(());
                }
            }
            self.pass_head()?;
            self.head.clear();
        }
    }

    /// How long the head is, as far as that is known.
    fn head_len(&self) -> usize {
        match self.at {
            Position::Record | Position::ChunkRecord { .. } => RECORD_HEAD_LEN,
            Position::ChunkHead { .. } if self.head.len() < CHUNK_HEAD_LEN => CHUNK_HEAD_LEN,
            Position::ChunkHead { .. } => CHUNK_HEAD_LEN + self.compression_len() + 8,
            Position::Refused => 0,
        }
    }

    fn compression_len(&self) -> usize {
        let len = self.head[CHUNK_HEAD_LEN - 4..CHUNK_HEAD_LEN].try_into();
        let len = u32::from_le_bytes(len.expect("four bytes")) as usize;
        len.min(COMPRESSION_LEN_MAX)
    }

    /// Handles a whole head.
    fn pass_head(&mut self) -> Result<(), RecordExceedsChunk> {
        match self.at {
            Position::Record => match self.record() {
                (CHUNK, len) => self.at = Position::ChunkHead { len },
                (_, len) => self.skip = len,
            },
            Position::ChunkHead { len } => self.pass_chunk_head(len),
            Position::ChunkRecord { left, padding } => {
                let (_, len) = self.record();
                let whole = len.checked_add(RECORD_HEAD_LEN as u64);
                let left = whole.and_then(|whole| left.checked_sub(whole));
                let left = left.ok_or(RecordExceedsChunk)?;
                self.at = Position::ChunkRecord { left, padding };
                self.skip = len;
            }
            Position::Refused => self.skip = u64::MAX,
        }
        Ok(())
    }

    /// The kind and the length of a record.
    fn record(&self) -> (u8, u64) {
        (self.head[0], self.number(1))
    }

    fn number(&self, at: usize) -> u64 {
        let bytes = self.head[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    }

    fn pass_chunk_head(&mut self, len: u64) {
        let data_len = self.number(self.head.len() - 8);
        let rest_len = len.checked_sub(self.head.len() as u64);
        let padding = rest_len.and_then(|rest| rest.checked_sub(data_len));
        let is_compressed = self.compression_len() > 0;
        self.at = match (padding, rest_len) {
            (Some(padding), _) if !is_compressed => Position::ChunkRecord {
                left: data_len,
                padding,
            },
            (Some(_), Some(rest_len)) => {
                self.skip = rest_len;
                Position::Record
            }
            _ => Position::Refused,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    /// A chunk with this data, and padding behind it.
    fn chunk(compression: &str, data: &[u8], padding: &[u8]) -> Vec<u8> {
        let mut content = vec![0; 28];
        content.extend((compression.len() as u32).to_le_bytes());
        content.extend(compression.as_bytes());
        content.extend((data.len() as u64).to_le_bytes());
        content.extend(data);
        content.extend(padding);
        record(CHUNK, &content)
    }

    /// Checks a file of these records, in pieces of each length.
    fn check(records: &[Vec<u8>]) -> bool {
        let file = [&[0; MAGIC_LEN as usize][..], &records.concat()].concat();
        let results = (1..=file.len()).map(|len| {
            let mut framing = Framing::new();
            file.chunks(len).all(|piece| framing.check(piece).is_ok())
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|two| two[0] == two[1]));
        results[0]
    }

    /// A record whose length says more than there is.
    fn too_long(len: u64) -> Vec<u8> {
        let mut bytes = record(5, b"");
        bytes[1..].copy_from_slice(&len.to_le_bytes());
        bytes
    }

    #[test]
    fn whole_records_pass() {
        let inner = [record(4, b"channel"), record(5, b""), record(5, b"event")].concat();
        assert!(check(&[
            record(1, b"header"),
            chunk("", &inner, b""),
            chunk("", &inner, b"padding"),
            chunk("", b"", b"padding"),
            record(2, b"footer"),
        ]));
    }

    #[test]
    fn a_record_that_is_longer_than_its_chunk_is_refused() {
        for len in [1, 8, u64::MAX] {
            assert!(!check(&[chunk("", &too_long(len), b"padding")]));
        }
        assert!(
            !check(&[chunk("", b"part", b"padding")]),
            "a part of a head"
        );
        let second = [record(5, b"event"), too_long(1)].concat();
        assert!(!check(&[chunk("", b"", b""), chunk("", &second, b"")]));
    }

    #[test]
    fn what_is_compressed_is_left_to_the_crate() {
        assert!(check(&[
            chunk("zstd", &too_long(9), b""),
            record(1, b"header")
        ]));
        let after = [
            chunk("zstd", b"data", b"padding"),
            chunk("", &too_long(9), b""),
        ];
        assert!(!check(&after), "the position is still right");
    }
}
