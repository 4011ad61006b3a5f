//! The readers of a log that wait for events.

use super::{Level, Wake};

/// The readers of a log that wait for events.
#[derive(Debug, Default)]
pub(super) struct WaitingReaders {
    readers: Vec<WaitingReader>,
    /// From this many readers on, the next one makes the list drop those that have stopped waiting.
    prune_at: usize,
}

#[derive(Debug)]
struct WaitingReader {
    from: u64,
    level: Level,
    wake: Wake,
}

impl WaitingReaders {
    /// Fewer readers are not worth a search.
    const PRUNE_MIN: usize = 64;

    pub(super) fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// Adds a reader. At most about half of the readers in the list have stopped waiting.
    pub(super) fn push(&mut self, from: u64, level: Level, wake: Wake) {
        if self.readers.len() >= self.prune_at {
            self.readers.retain(|reader| !reader.wake.is_closed());
            self.prune_at = (2 * self.readers.len()).max(Self::PRUNE_MIN);
        }
        self.readers.push(WaitingReader { from, level, wake });
    }

    /// Wakes the readers for which there is an event: all sequences below `visible` can be read.
    pub(super) fn wake(&mut self, visible: impl Fn(Level) -> u64) {
        let is_woken = |reader: &mut WaitingReader| visible(reader.level) > reader.from;
        for reader in self.readers.extract_if(.., is_woken) {
            // A reader that has stopped waiting has dropped its end.
            let _ = reader.wake.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn readers_that_wait_no_more_take_no_memory() {
        let mut readers = WaitingReaders::default();
        let mut kept = Vec::new();
        for from in 0..100_000 {
            let (sender, receiver) = oneshot::channel();
            readers.push(from, Level::Written, sender);
            if from % 1000 == 0 {
                kept.push(receiver);
            }
            assert!(readers.readers.len() <= 256, "{}", readers.readers.len());
        }
        readers.wake(|_| u64::MAX);
        for mut receiver in kept {
            assert_eq!(receiver.try_recv(), Ok(()));
        }
    }
}
