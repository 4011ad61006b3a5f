//! The last look at a server, shared by all who watch it: a look is taken when somebody asks and the last one is old.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::sample::{Sample, Watched};

/// How often the server is looked at while somebody watches.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at a server when it is asked to.
pub(super) struct Watcher {
    pub(super) watched: Watched,
    /// Held while a look is taken, so that all who ask meanwhile get the same.
    last: Mutex<Option<Arc<Sample>>>,
}

impl Watcher {
    pub(super) fn new(watched: Watched) -> Self {
        Self {
            watched,
            last: Mutex::new(None),
        }
    }

    /// A look that is hardly older than [`INTERVAL`]. May be cancelled.
    pub(super) async fn sample(&self) -> Arc<Sample> {
        let mut last = self.last.lock().await;
        if let Some(sample) = last
            .as_ref()
            .filter(|it| it.taken.elapsed() < INTERVAL * 9 / 10)
        {
            return sample.clone();
        }
        let sample = Arc::new(self.watched.look(last.as_deref()).await);
        *last = Some(sample.clone());
        sample
    }

    /// Forgets the last look, after a change.
    pub(super) async fn forget(&self) {
        // The next one has rates all the same: they are told of the look that comes then.
        let mut last = self.last.lock().await;
        *last = None;
    }
}
