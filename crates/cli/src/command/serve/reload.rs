//! The file of a running hub, read again: at SIGHUP, and when it has changed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use floe::Tls;
use floe_hub::Hub;

use crate::config::Configuration;
use crate::exit::Failure;
use crate::log;

/// Watches for reasons to read the settings again.
#[derive(Debug)]
pub(super) struct Reload {
    file: PathBuf,
    hangup: Hangup,
    /// The file as it was read last.
    applied: Option<Stamp>,
    /// The file at the last look.
    seen: Option<Stamp>,
}

/// What changes when a file does: its time and its length.
type Stamp = (SystemTime, u64);

/// How often the file is looked at. It is read when it looks the same twice: who writes is done then.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Reload {
    /// Begins to watch; what the file says now counts as read. Must be called inside the runtime.
    ///
    /// # Errors
    /// The system does not hand signals out.
    pub(super) fn new(file: &Path) -> Result<Self, Failure> {
        let hangup = Hangup::new()?;
        let stamp = stamp(file);
        Ok(Self {
            file: file.to_owned(),
            hangup,
            applied: stamp,
            seen: stamp,
        })
    }

    /// Waits for the next reason, and gives its name. May be cancelled.
    pub(super) async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                () = self.hangup.next() => {
                    self.applied = stamp(&self.file);
                    return "SIGHUP";
                }
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
            }
            let now = stamp(&self.file);
            let is_settled = now == std::mem::replace(&mut self.seen, now);
            if is_settled && now.is_some() && now != self.applied {
                self.applied = now;
                return "a change of the file";
            }
        }
    }
}

/// SIGHUP, where there is one: elsewhere the file alone is watched.
#[derive(Debug)]
struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    #[cfg(unix)]
    fn new() -> Result<Self, Failure> {
        use crate::exit::Exit;
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::hangup()) {
            Ok(signal) => Ok(Self { signal }),
            Err(error) => {
                let message = format_args!("cannot wait for SIGHUP: {error}");
                Err(Failure::new(Exit::Failure, message))
            }
        }
    }

    /// Waits for the next one. May be cancelled.
    #[cfg(unix)]
    async fn next(&mut self) {
        if self.signal.recv().await.is_none() {
            // No more will come.
            std::future::pending().await
        }
    }

    #[cfg(not(unix))]
    fn new() -> Result<Self, Failure> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        std::future::pending().await
    }
}

/// None while there is no file, as while an editor puts another in its place.
fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Applies what may change while the hub runs, and says what waits for the next start. `now` is what
/// was applied last.
pub(super) async fn apply(
    hub: &Hub,
    tls: Option<&Tls>,
    now: &mut Configuration,
    next: Configuration,
) {
    let mut waiting = hub.reconfigure(next.hub.clone()).await;
    waiting.extend(now.fixed_differences(&next));
    if next.log != now.log {
        log::set_level(next.log.as_deref().unwrap_or("warn"));
    }
    if let Some(Err(error)) = tls.map(Tls::reload) {
        log::say(format_args!("kept the certificates: {error}"));
    }
    let fixed = std::mem::replace(now, next);
    // These are what is in force, until the next start.
    now.communicator = fixed.communicator;
    now.tls = fixed.tls;
    if !waiting.is_empty() {
        log::say(format_args!(
            "these settings have changed and wait for a restart: {}",
            waiting.join(", ").replace('_', "-")
        ));
    }
}
