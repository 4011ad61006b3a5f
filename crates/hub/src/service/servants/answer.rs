//! Answers that grow with the number of topics or subscribers: how long one may be, and how it is made without keeping
//! other connections waiting.

use floe::encoding::{Encode, Encoder};
use floe::{Current, EncodingVersion, InvokeError, SystemException};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The length of an answer while it is made.
pub(super) struct Answer {
    /// What it is made of, for messages.
    what: &'static str,
    /// The operations that give the same in pages.
    instead: &'static str,
    count: usize,
    len: usize,
    len_max: usize,
    scratch: Vec<u8>,
    /// How many items there are when it pauses next.
    next_pause: usize,
    /// Held by an answer that is longer than one step.
    permit: Option<SemaphorePermit<'static>>,
}

/// Items of a sequence or dictionary that are encoded one after another, so that none of them is kept until the answer is
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
/// Items after which other connections have their turn.
pub(super) const STEP: usize = 128;
/// Subscribers that are looked at before other connections have their turn.
pub(super) const LOOKED_AT_MAX: usize = if cfg!(test) { 256 } else { 4_096 };
/// Header of a reply, and what surrounds its items.
const OVERHEAD: usize = 1_024;

/// Lets other connections have their turn after looking at some subscribers, however short the answer is.
#[derive(Default)]
pub(super) struct Pace {
    looked_at: usize,
    /// Held by an answer that looks at much.
    permit: Option<SemaphorePermit<'static>>,
}

/// As many subscribers are looked at while one topic is.
pub(super) const TOPIC_WEIGHT: usize = 8;

impl Pace {
    /// For an answer that looks at this many topics. If they are many, it waits for others that do so.
    pub(super) async fn of_topics(count: usize) -> Self {
        let mut pace = Self::default();
        if count >= STEP {
            pace.permit = LONG_ANSWERS.acquire().await.ok();
        }
        pace
    }

    /// This many subscribers were looked at.
    pub(super) async fn pause(&mut self, count: usize) {
        self.looked_at += count;
        if self.looked_at >= LOOKED_AT_MAX {
            self.looked_at = 0;
            tokio::task::yield_now().await;
        }
    }
}

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
            next_pause: STEP,
            permit: None,
        }
    }

    /// Whether an item fits. If it does, it is counted.
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

    /// Whether the answer has become longer than it may be, for items that the caller adds unless this is an error.
    pub(super) fn add(&mut self, item: &impl Encode) -> Result<(), InvokeError> {
        match self.fits(item) {
            true => Ok(()),
            false => Err(self.too_long()),
        }
    }

    /// The same for an item that is encoded now, behind the others.
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
        match self.count(items.bytes.len() - known_len) {
            true => Ok(()),
            false => Err(self.too_long()),
        }
    }

    /// Lets other connections have their turn after some items.
    pub(super) async fn pause(&mut self) {
        if self.count >= self.next_pause {
            self.next_pause = self.count + STEP;
            self.give_way().await;
        }
    }

    /// Lets other connections have their turn.
    pub(super) async fn give_way(&mut self) {
        if self.permit.is_none() {
            self.permit = LONG_ANSWERS.acquire().await.ok();
        }
        tokio::task::yield_now().await;
    }
}
