//! The audit log: one line of JSON for each refusal, but no more lines than a disk can take.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use floe::regular_file;
use floe_access::{AuditLines, Refusal};

use crate::lock::Mutex;

/// Writes refusals to a file, or to the log of the process.
pub(super) struct Audit {
    /// Held while a line is written.
    state: Mutex<AuditFile>,
}

#[derive(Default)]
struct AuditFile {
    /// None for the log of the process.
    file: Option<File>,
    lines: AuditLines,
}

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
        let opened = path.map(regular_file::open_log).transpose();
        self.lock().file = opened.unwrap_or_else(|error| {
            tracing::error!("the audit log is written here: {error}");
            None
        });
    }

    pub(super) fn write(&self, refusal: &Refusal) {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let mut state = self.lock();
        for line in state.lines.of(refusal, unix_ms) {
            state.put(&line);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, AuditFile> {
        self.state.lock()
    }
}

impl AuditFile {
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
