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
    last: Mutex<Last>,
}

/// The last look.
#[derive(Default)]
struct Last {
    sample: Option<Arc<Sample>>,
    /// True if something has changed since then.
    is_outdated: bool,
}

impl Watcher {
    pub(super) fn new(watched: Watched) -> Self {
        Self {
            watched,
            last: Mutex::default(),
        }
    }

    /// A look that is hardly older than [`INTERVAL`]. May be cancelled.
    pub(super) async fn sample(&self) -> Arc<Sample> {
        let mut last = self.last.lock().await;
        let is_young = |sample: &&Arc<Sample>| sample.taken.elapsed() < INTERVAL * 9 / 10;
        let young = last.sample.as_ref().filter(is_young);
        if let Some(sample) = young.filter(|_| !last.is_outdated) {
            return sample.clone();
        }
        let sample = Arc::new(self.watched.look(last.sample.as_deref()).await);
        *last = Last {
            sample: Some(sample.clone()),
            is_outdated: false,
        };
        sample
    }

    /// Has the next look taken anew, after a change.
    pub(super) async fn outdate(&self) {
        self.last.lock().await.is_outdated = true;
    }
}
