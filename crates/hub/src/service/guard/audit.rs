//! The audit log: one line of JSON for each refusal, and no more of them than a disk can take.

use std::fs::{File, OpenOptions};
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
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        // Whoever reads a pipe must not hold the callers up.
        regular_file::never_waits(&mut options);
        let opened = path.map(|path| options.open(path));
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

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_audit_log_that_is_a_pipe_without_a_reader_is_not_waited_for() {
        let name = format!("floe-hub-audit-{}", std::process::id());
        let pipe = std::env::temp_dir().join(name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let (tell, told) = channel();
        let path = pipe.clone();
        thread::spawn(move || {
            let audit = Audit::new(Some(&path));
            let is_file = audit.lock().file.is_some();
            tell.send(is_file)
        });
        let opened = told.recv_timeout(Duration::from_secs(60));
        std::fs::remove_file(pipe).unwrap();
        assert!(
            !opened.expect("it waits for a reader"),
            "the log of the process has the lines"
        );
    }
}
