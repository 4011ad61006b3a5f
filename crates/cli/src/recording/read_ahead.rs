//! Reads a recording ahead of its consumers, on a thread that may block.

use std::io::Read;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinHandle};

use super::{RecordedEvent, RecordingError, RecordingReader};

/// Gives one event after the other.
pub(crate) trait EventSource: Send + 'static {
    /// The next event. `None` at the end.
    ///
    /// # Errors
    /// The source cannot be read.
    fn next(&mut self) -> Result<Option<RecordedEvent>, RecordingError>;
}

impl<R: Read + Send + 'static> EventSource for RecordingReader<R> {
    fn next(&mut self) -> Result<Option<RecordedEvent>, RecordingError> {
        Self::next(self)
    }
}

/// Events of a source that are read ahead. Dropping the value ends the reading.
pub(crate) struct ReadAhead<S> {
    events: mpsc::Receiver<Ahead>,
    /// The room of the event that was given out last.
    given: Option<OwnedSemaphorePermit>,
    reading: JoinHandle<Result<S, RecordingError>>,
}

/// An event, and the room that it takes.
type Ahead = (RecordedEvent, OwnedSemaphorePermit);

/// Events that are read ahead.
const COUNT_MAX: usize = 1024;
/// Bytes that are read ahead. A small file may hold long events: they are compressed.
const LEN_MAX: usize = 16 << 20;

impl<S: EventSource> ReadAhead<S> {
    /// Begins to read. Must be called inside the runtime.
    pub(crate) fn start(mut source: S) -> Self {
        let (sender, events) = mpsc::channel(COUNT_MAX);
        let room = Arc::new(Semaphore::new(LEN_MAX));
        let runtime = Handle::current();
        let reading = tokio::task::spawn_blocking(move || {
            while let Some(event) = source.next()? {
                // One event that is longer than that passes alone.
                let share = event.bytes.len().min(LEN_MAX) as u32;
                let share = runtime.block_on(room.clone().acquire_many_owned(share));
                let share = share.expect("the semaphore is never closed");
                if sender.blocking_send((event, share)).is_err() {
                    break;
                }
            }
            Ok(source)
        });
        Self {
            events,
            given: None,
            reading,
        }
    }

    /// The next event. `None` at the end of the file, or after an error.
    pub(crate) async fn next(&mut self) -> Option<RecordedEvent> {
        self.given = None;
        let (event, share) = self.events.recv().await?;
        self.given = Some(share);
        Some(event)
    }

    /// Ends the reading, and gives the source back.
    ///
    /// # Errors
    /// The reading panicked. The inner error: the file could not be read.
    pub(crate) async fn end(self) -> Result<Result<S, RecordingError>, JoinError> {
        let Self {
            events,
            given,
            reading,
        } = self;
        drop((events, given));
        reading.await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const EVENT_LEN: usize = 1 << 20;
    const COUNT: usize = 10 * LEN_MAX / EVENT_LEN;

    /// Long events, and the number of those that were read.
    #[derive(Default)]
    struct LongEvents(Arc<AtomicUsize>);

    impl EventSource for LongEvents {
        fn next(&mut self) -> Result<Option<RecordedEvent>, RecordingError> {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            Ok((number < COUNT).then(|| RecordedEvent {
                topic: "t".into(),
                time: number as u64,
                bytes: vec![0; EVENT_LEN],
            }))
        }
    }

    fn reading() -> (ReadAhead<LongEvents>, Arc<AtomicUsize>) {
        let source = LongEvents::default();
        let count = source.0.clone();
        (ReadAhead::start(source), count)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_events_are_not_read_far_ahead() {
        let (mut ahead, count) = reading();
        let most = LEN_MAX / EVENT_LEN + 1;
        for number in 0..COUNT {
            let event = ahead.next().await.expect("an event");
            assert_eq!(event.time, number as u64);
            let read = count.load(Ordering::Relaxed);
            assert!(read <= number + 1 + most, "{read} at {number}");
            tokio::task::yield_now().await;
        }
        assert!(ahead.next().await.is_none());
        assert!(ahead.end().await.unwrap().is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn reading_ends_when_no_more_is_wanted() {
        let (mut ahead, count) = reading();
        ahead.next().await.expect("an event");
        assert!(ahead.end().await.unwrap().is_ok());
        assert!(count.load(Ordering::Relaxed) < COUNT);
    }
}
