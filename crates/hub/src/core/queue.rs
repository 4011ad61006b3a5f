//! Events that wait for delivery, bounded in number and bytes.

use std::collections::VecDeque;

/// How long something is, for the limits of a queue.
pub(crate) trait ByteLen {
    /// Length in bytes; at least 1.
    fn byte_len(&self) -> usize;
}

impl ByteLen for floe::Event {
    fn byte_len(&self) -> usize {
        self.len()
    }
}

/// How much may wait for one subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "Send.QueueSizeMax")]
pub struct QueueLimits {
    /// Events. Default 100,000: some seconds of a fast publisher.
    pub events: usize,
    /// Bytes of operation, mode, context and parameters. Default 64 MiB. An event that waits in
    /// several queues is held once, and counts in each.
    pub bytes: usize,
    /// What happens when it is too much.
    pub overflow: OverflowPolicy,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            events: 100_000,
            bytes: 64 * 1024 * 1024,
            overflow: OverflowPolicy::DropOldest,
        }
    }
}

/// What happens when an event does not fit into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[doc(alias = "Send.QueueSizeMaxPolicy")]
pub enum OverflowPolicy {
    /// The events that wait longest are lost. The default: a subscriber that was slow for a while
    /// goes on with the present.
    #[default]
    #[doc(alias = "DropEvents")]
    DropOldest,
    /// The subscription ends, and with it all that waits.
    #[doc(alias = "RemoveSubscriber")]
    Disconnect,
}

/// First in, first out.
#[derive(Debug)]
pub(super) struct Queue<E> {
    events: VecDeque<E>,
    bytes: usize,
}

impl<E: ByteLen> Queue<E> {
    /// A drained queue keeps room for no more than this many events.
    const SPARE_MAX: usize = 1024;

    pub(super) fn new() -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Bytes of all events.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether one more event of this length would be too much.
    pub(super) fn is_full_for(&self, byte_len: usize, limits: &QueueLimits) -> bool {
        self.events.len() >= limits.events || self.bytes + byte_len > limits.bytes
    }

    /// Whether no more than half of the limits is used.
    pub(super) fn is_half_empty(&self, limits: &QueueLimits) -> bool {
        self.events.len() <= limits.events / 2 && self.bytes <= limits.bytes / 2
    }

    pub(super) fn push(&mut self, event: E) {
        self.bytes += event.byte_len();
        self.events.push_back(event);
    }

    pub(super) fn pop(&mut self) -> Option<E> {
        let event = self.events.pop_front()?;
        self.bytes -= event.byte_len();
        if self.events.is_empty() && self.events.capacity() > Self::SPARE_MAX {
            self.events = VecDeque::new();
        }
        Some(event)
    }

    /// Moves events to `taken`: at least one if there is any, then as many as the limits allow.
    pub(super) fn take(&mut self, events_max: usize, bytes_max: usize, taken: &mut Vec<E>) {
        let mut bytes = 0;
        for count in 0..events_max {
            let Some(next) = self.events.front() else {
                return;
            };
            bytes += next.byte_len();
            if count > 0 && bytes > bytes_max {
                return;
            }
            taken.extend(self.pop());
        }
    }

    /// Drops all events; how many.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.events.len();
        *self = Self::new();
        count
    }
}
