//! The audit log: one line of JSON for each refusal, and no more of them than a disk can take.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use floe_access::Refusal;

/// Writes refusals to a file, or to the log of the process.
pub(super) struct Audit {
    /// Held while a line is written.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None for the log of the process.
    file: Option<File>,
    /// The second, since 1970, that lines are counted in.
    second: u64,
    lines: u64,
    omitted: u64,
}

/// Lines that are written within a second. Anybody who reaches the hub can make it refuse; the others are counted.
const LINES_MAX: u64 = 100;

impl Audit {
    pub(super) fn new(path: Option<&Path>) -> Self {
        let audit = Self {
            state: Mutex::default(),
        };
        audit.open(path);
        audit
    }

    /// Appends to this file from now on. If it cannot be opened, refusals go to the log of the process.
    pub(super) fn open(&self, path: Option<&Path>) {
        let opened = path.map(|path| OpenOptions::new().append(true).create(true).open(path));
        let file = match opened.transpose() {
            Ok(file) => file,
            Err(error) => {
                let path = path.unwrap_or(Path::new("")).display();
                tracing::error!(
                    "the audit log is written here because {path} cannot be opened: {error}"
                );
                None
            }
        };
        self.lock().file = file;
    }

    pub(super) fn write(&self, refusal: &Refusal) {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let mut state = self.lock();
        for line in state.lines_for(refusal, unix_ms) {
            state.put(&line);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The lines that tell of a refusal at this time: mostly one, and none if too many were written in this second.
    fn lines_for(&mut self, refusal: &Refusal, unix_ms: u64) -> Vec<String> {
        let mut lines = Vec::new();
        let second = unix_ms / 1000;
        if second != self.second {
            let omitted = std::mem::take(&mut self.omitted);
            if omitted > 0 {
                lines.push(format!(
                    r#"{{"unix_ms":{unix_ms},"event":"omitted","count":{omitted}}}"#
                ));
            }
            (self.second, self.lines) = (second, 0);
        }
        match self.lines < LINES_MAX {
            true => {
                self.lines += 1;
                lines.push(refusal.to_json(unix_ms));
            }
            false => self.omitted += 1,
        }
        lines
    }

    fn put(&mut self, line: &str) {
        let Some(file) = &mut self.file else {
            tracing::warn!(target: "floe_hub::audit", "{line}");
            return;
        };
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            tracing::error!("cannot write the audit log: {error}; {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use floe_access::{Action, Caller, Place, Reason, TokenError};

    use super::*;

    #[test]
    fn a_flood_of_refusals_is_counted_and_not_written() {
        let caller = Caller::anonymous(Place::Unknown);
        let refusal = Refusal::of(
            &caller,
            Action::Publish,
            "x",
            Reason::Token(TokenError::Expired),
        );
        let mut state = State::default();
        let of_second: Vec<_> = (0..LINES_MAX + 7)
            .flat_map(|at| state.lines_for(&refusal, 1000 + at))
            .collect();
        assert_eq!(of_second.len() as u64, LINES_MAX);
        let next = state.lines_for(&refusal, 2000);
        assert_eq!(next[0], r#"{"unix_ms":2000,"event":"omitted","count":7}"#);
        assert_eq!(next.len(), 2);
        assert_eq!(state.lines_for(&refusal, 3000).len(), 1);
    }
}
