//! Bytes that wait to be written, and whose turn it is to write them.

/// The output of a connection: a buffer that grows while another one is being written.
///
/// ```text
/// idle --take--> writing --put_back, nothing pending--> idle
///                writing --put_back, more pending--> writing
/// ```
#[derive(Debug, Default)]
pub(super) struct Output {
    pending: Vec<u8>,
    /// An empty buffer, kept for its allocation.
    spare: Vec<u8>,
    is_writing: bool,
    /// Bytes of the batch being written that the transport has not taken yet.
    stalled_len: usize,
}

/// Bytes that are being written.
#[derive(Debug)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    written: usize,
}

impl Output {
    /// An idle connection keeps no more than this many bytes allocated.
    const SPARE_MAX: usize = 64 * 1024;

    /// The buffer to append whole messages to.
    pub(super) fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Appends whole messages, without a copy if nothing is pending; `messages` is left empty.
    pub(super) fn append(&mut self, messages: &mut Vec<u8>) {
        if self.pending.is_empty() {
            std::mem::swap(&mut self.pending, messages);
        } else {
            self.pending.append(messages);
        }
    }

    /// Bytes that wait, those of a stalled batch included.
    pub(super) fn len(&self) -> usize {
        self.pending.len() + self.stalled_len
    }

    /// Takes what is pending in order to write it; `None` if there is nothing, or if somebody is
    /// writing and will take it along.
    pub(super) fn take(&mut self) -> Option<Batch> {
        if self.is_writing || self.pending.is_empty() {
            return None;
        }
        self.is_writing = true;
        Some(self.next_batch())
    }

    /// Ends the writing of a batch; gives the next one if more has come.
    pub(super) fn put_back(&mut self, batch: Batch) -> Option<Batch> {
        self.stalled_len = 0;
        if batch.bytes.capacity() <= Self::SPARE_MAX {
            self.spare = batch.bytes;
            self.spare.clear();
        }
        if self.pending.is_empty() {
            self.is_writing = false;
            return None;
        }
        Some(self.next_batch())
    }

    /// Remembers how much of a batch the transport has not taken.
    pub(super) fn set_stalled(&mut self, batch: &Batch) {
        self.stalled_len = batch.rest().len();
    }

    /// Forgets everything: the connection is closed.
    pub(super) fn clear(&mut self) {
        *self = Self {
            is_writing: self.is_writing,
            ..Self::default()
        };
    }

    fn next_batch(&mut self) -> Batch {
        let spare = std::mem::take(&mut self.spare);
        Batch {
            bytes: std::mem::replace(&mut self.pending, spare),
            written: 0,
        }
    }
}

impl Batch {
    /// Length in bytes, written ones included.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What is still to be written.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Counts bytes as written; whether all are.
    pub(super) fn advance(&mut self, count: usize) -> bool {
        self.written += count;
        self.written >= self.bytes.len()
    }
}
