//! The reasons to read the file of a running server again: SIGHUP, and that the file has changed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::ServerError;

/// Watches for reasons to read the settings again.
#[derive(Debug)]
pub(crate) struct Reload {
    /// None if there is nothing to read: then SIGHUP alone is waited for.
    file: Option<PathBuf>,
    /// None if the hub was started to outlive its terminal, and has nothing to read.
    hangup: Option<Hangup>,
    /// The file as it was read last.
    applied: Option<Stamp>,
    /// The file at the last look.
    seen: Option<Stamp>,
}

/// The stamp of a file, which changes with it: its time and its length.
pub(crate) type Stamp = (SystemTime, u64);

/// How often the file is looked at. It is read when it looks the same twice: who writes is done then.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Reload {
    /// Begins to watch a file that was read when this was its stamp, or later. Must be called inside the runtime.
    ///
    /// # Errors
    /// The system does not hand signals out.
    pub(crate) fn new(file: Option<&Path>, read: Option<Stamp>) -> Result<Self, ServerError> {
        let hangup = match file.is_none() && is_hangup_ignored() {
            true => None,
            false => Some(Hangup::new()?),
        };
        Ok(Self {
            file: file.map(Path::to_owned),
            hangup,
            applied: read,
            seen: read,
        })
    }

    /// Waits for the next reason, and gives its name. May be cancelled.
    pub(crate) async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                () = next(&mut self.hangup) => {
                    self.applied = self.stamp();
                    return "SIGHUP";
                }
                () = tokio::time::sleep(LOOK_INTERVAL), if self.file.is_some() => {}
            }
            let now = self.stamp();
            let is_settled = now == std::mem::replace(&mut self.seen, now);
            if is_settled && now.is_some() && now != self.applied {
                self.applied = now;
                return "a change of the file";
            }
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        self.file.as_deref().and_then(stamp)
    }
}

async fn next(hangup: &mut Option<Hangup>) {
    match hangup {
        Some(hangup) => hangup.next().await,
        None => std::future::pending().await,
    }
}

/// Returns true if this process was started so that it ignores SIGHUP, as `nohup` does. False if the system does not
/// say.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first bit is that of signal 1.
    mask.is_some_and(|mask| mask & 1 != 0)
}

/// SIGHUP, where there is one: elsewhere the file alone is watched.
#[derive(Debug)]
struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    #[cfg(unix)]
    fn new() -> Result<Self, ServerError> {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::hangup()) {
            Ok(signal) => Ok(Self { signal }),
            Err(error) => {
                let message = format_args!("cannot wait for SIGHUP: {error}");
                Err(ServerError::system(message))
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
    fn new() -> Result<Self, ServerError> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        std::future::pending().await
    }
}

/// None while there is no file, as while an editor puts another in its place.
pub(crate) fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_changes_before_it_is_watched_is_read_again() {
        let name = format!("floe-reload-{}.toml", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "").expect("a file");
        let read = stamp(&file);
        std::fs::write(&file, "log = \"info\"").expect("the same file");
        let mut reload = Reload::new(Some(&file), read).expect("there are signals");
        let reason = tokio::time::timeout(Duration::from_secs(30), reload.next());
        assert_eq!(reason.await, Ok("a change of the file"));
        std::fs::remove_file(&file).expect("it is there");
    }
}
