//! A worker: calls something at random, one turn after another.

use std::sync::Arc;
use std::time::Duration;

use floe::settings::Compression;
use floe::{Adapter, Communicator, TypedProxy};

use super::notes::Notes;
use crate::contract::soak::TargetProxy;
use crate::id::Kind;
use crate::random::Random;

/// The time that a call may take where it has a limit.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Where the workers of a face call.
pub(super) struct Places {
    pub(super) targets: Vec<TargetProxy>,
    pub(super) datagrams: Vec<TargetProxy>,
    /// The adapter whose servant is called back.
    pub(super) adapter: Adapter,
}

impl Places {
    pub(super) fn new(
        communicator: &Communicator,
        targets: &[String],
        datagrams: &[String],
        adapter: Adapter,
    ) -> Arc<Self> {
        let proxies = |texts: &[String]| -> Vec<TargetProxy> {
            let proxy = |text: &String| communicator.proxy(text).expect("a proxy");
            texts.iter().map(proxy).collect()
        };
        Arc::new(Self {
            targets: proxies(targets),
            datagrams: proxies(datagrams),
            adapter,
        })
    }
}

/// One worker.
pub(super) struct Worker {
    pub(super) random: Random,
    rest: Duration,
    pub(super) places: Arc<Places>,
    pub(super) notes: Arc<Notes>,
}

impl Worker {
    pub(super) fn new(seed: u64, rest: Duration, places: Arc<Places>, notes: Arc<Notes>) -> Self {
        Self {
            random: Random::new(seed),
            rest,
            places,
            notes,
        }
    }

    /// Calls something, and waits for the end of it; false when it is time to end.
    pub(super) async fn turn(&mut self) -> bool {
        let target = self.target();
        match self.random.below(100) {
            0..30 => self.once(&target).await,
            30..42 => self.again(&target).await,
            42..50 => self.refuse(&target).await,
            50..62 => self.carry(&target).await,
            62..67 => self.linger(&target).await,
            67..74 => self.call_back(&target).await,
            74..82 => self.oneways(&target, Kind::Oneway).await,
            82..90 => self.oneways(&target, Kind::Batch).await,
            90..95 => self.datagrams().await,
            _ => self.many(&target).await,
        }
        !self.notes.is_ended()
    }

    /// How long to rest after a turn; often not at all, so that some turns follow each other closely.
    pub(super) fn rest(&mut self) -> Duration {
        match self.random.below(3) {
            0 => Duration::ZERO,
            _ => self.rest * self.random.below(100) as u32 / 100,
        }
    }

    /// A target, with some of what a proxy can be told.
    fn target(&mut self) -> TargetProxy {
        let target = self.random.pick(&self.places.targets).clone();
        let target = match self.random.below(2) {
            0 => target.ice_timeout(Some(TIMEOUT)),
            _ => target,
        };
        match self.random.below(8) {
            0 => target.ice_compress(true),
            1 => target.ice_compression(Compression::Zstd),
            2 => target.ice_compression(Compression::ZstdStream),
            3 => target.ice_connection_cached(false),
            4 => target.ice_polling(Duration::from_micros(20)),
            _ => target,
        }
    }
}
