//! Answers that grow with the number of topics or subscribers. Limits their length, and lets other connections have
//! their turn while one is made.

use floe::encoding::{Encode, Encoder};
use floe::{Current, EncodingVersion, InvokeError, SystemException};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::service::pace::{LOOKED_AT_MAX, Pace, STEP};

/// The length of an answer while it is made.
pub(super) struct Answer {
    /// The items of the answer, in words for error messages.
    what: &'static str,
    /// The operations that give the same in pages.
    instead: &'static str,
    count: usize,
    len: usize,
    len_max: usize,
    scratch: Vec<u8>,
    /// The length when it was last asked whether to pause.
    len_at_pause: usize,
    pace: Pace,
    /// Held by an answer that has paused.
    permit: Option<SemaphorePermit<'static>>,
}

/// Items of a sequence or dictionary that are encoded one after another, so that no item is kept until the answer is
/// complete.
pub(super) struct EncodedItems {
    encoding: EncodingVersion,
    bytes: Vec<u8>,
    count: usize,
}

impl EncodedItems {
    pub(super) fn new(encoding: EncodingVersion) -> Self {
        Self {
            encoding,
            bytes: Vec::new(),
            count: 0,
        }
    }

    /// Encodes the sequence or dictionary.
    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.size(self.count);
        encoder.bytes(&self.bytes);
    }
}

/// Long answers that are made at a time. Others wait, and hold nothing meanwhile.
static LONG_ANSWERS: Semaphore = Semaphore::const_new(2);

/// Bytes of a page. Every client accepts messages of 1 MiB.
pub(super) const PAGE_LEN: usize = 256 * 1024;
/// Items of a page.
pub(super) const PAGE_COUNT: usize = 1_000;
/// Making an item takes as long as this many looks at a topic or subscriber.
const ITEM_COST: usize = LOOKED_AT_MAX / STEP;
/// Encoding this many bytes takes as long as a look.
const BYTES_OF_LOOK: usize = 16;
/// Bytes for the header of a reply, and for the encoding around the items.
const OVERHEAD: usize = 1_024;

impl Answer {
    /// An answer that must fit into one message.
    pub(super) fn whole(current: &Current, what: &'static str, instead: &'static str) -> Self {
        let communicator = current.adapter().communicator().clone();
        let len_max = communicator.settings().message_size_max;
        Self::of(len_max.saturating_sub(OVERHEAD), what, instead)
    }

    /// An answer that ends when a page is full.
    pub(super) fn page() -> Self {
        Self::of(PAGE_LEN, "", "")
    }

    fn of(len_max: usize, what: &'static str, instead: &'static str) -> Self {
        Self {
            what,
            instead,
            count: 0,
            len: 0,
            len_max,
            scratch: Vec::new(),
            len_at_pause: 0,
            pace: Pace::default(),
            permit: None,
        }
    }

    /// Counts an item if it fits. Returns false if it does not.
    pub(super) fn fits(&mut self, item: &impl Encode) -> bool {
        self.scratch.clear();
        let mut encoder = Encoder::new(&mut self.scratch, EncodingVersion::V1_1);
        encoder.put(item);
        // An item that cannot be encoded fails when the answer is encoded.
        let _ = encoder.finish();
        self.count(self.scratch.len())
    }

    /// Counts an item of this length if it fits.
    fn count(&mut self, item_len: usize) -> bool {
        let len = self.len + item_len;
        let fits = len <= self.len_max;
        if fits {
            (self.count, self.len) = (self.count + 1, len);
        }
        fits
    }

    /// The refusal of an answer that is too long.
    pub(super) fn too_long(&self) -> InvokeError {
        let Self {
            what,
            instead,
            count,
            len_max,
            ..
        } = self;
        SystemException::UnknownException(format!(
            "expected {what} that fit into a message of {len_max} bytes, got more than {count}: use {instead}, or raise the \
             limit of the hub (connections.message-bytes, Ice.MessageSizeMax) and of the client"
        ))
        .into()
    }

    /// Counts an item that the caller adds to the answer.
    ///
    /// # Errors
    /// The answer would be too long.
    pub(super) fn add(&mut self, item: &impl Encode) -> Result<(), InvokeError> {
        match self.fits(item) {
            true => Ok(()),
            false => Err(self.too_long()),
        }
    }

    /// Counts an item that takes at least this many bytes.
    ///
    /// # Errors
    /// The answer would be too long.
    pub(super) fn add_len(&mut self, item_len: usize) -> Result<(), InvokeError> {
        match self.count(item_len) {
            true => Ok(()),
            false => Err(self.too_long()),
        }
    }

    /// Encodes an item behind the others, and counts it.
    ///
    /// # Errors
    /// The item cannot be encoded, or the answer would be too long.
    pub(super) fn append(
        &mut self,
        items: &mut EncodedItems,
        encode: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), InvokeError> {
        let known_len = items.bytes.len();
        let mut encoder = Encoder::new(&mut items.bytes, items.encoding);
        encode(&mut encoder);
        let encoded = encoder.finish();
        encoded.map_err(|error| InvokeError::NotDispatched(error.into()))?;
        items.count += 1;
        self.add_len(items.bytes.len() - known_len)
    }

    /// Notes that an item was made or left out. Lets other connections have their turn after some items, or after a few
    /// long ones.
    pub(super) async fn pause(&mut self) {
        let made = self.len - self.len_at_pause;
        self.len_at_pause = self.len;
        // Many requests that come together all make their first bytes before they wait for one another.
        let share = if self.permit.is_none() { 4 } else { 1 };
        self.pause_after(ITEM_COST + made * share / BYTES_OF_LOOK)
            .await;
    }

    /// Does the same after topics and subscribers that were only looked at.
    pub(super) async fn pause_after(&mut self, looked_at: usize) {
        if !self.pace.is_due(looked_at) {
            return;
        }
        if self.permit.is_none() {
            self.permit = LONG_ANSWERS.acquire().await.ok();
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::pace::tests::pauses;

    #[tokio::test]
    async fn other_connections_have_their_turn_after_many_items_or_a_few_long_ones() {
        let made = async |count: usize, len: usize| {
            let mut answer = Answer::page();
            for _ in 0..count {
                assert!(answer.count(len), "a page has room for it");
                answer.pause().await;
            }
        };
        assert!(pauses(made(4 * STEP, 1)).await >= 4);
        let step = LOOKED_AT_MAX * BYTES_OF_LOOK;
        assert!(pauses(made(4, step)).await >= 4);
    }

    #[tokio::test]
    async fn a_short_answer_waits_for_no_other() {
        let others = LONG_ANSWERS.acquire_many(2).await.unwrap();
        let mut answer = Answer::page();
        for _ in 0..STEP / 2 {
            answer.add_len(10).unwrap();
            answer.pause().await;
        }
        drop(others);
    }
}
