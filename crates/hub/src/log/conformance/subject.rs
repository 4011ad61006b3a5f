//! The logs under test.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Runtime;

use super::samples::{append, stored};
use crate::log::*;

/// A log under test, and what must live as long.
pub(super) struct Subject {
    pub(super) log: Arc<dyn EventLog>,
    _runtime: Option<Runtime>,
    folder: Option<PathBuf>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.log.close();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

pub(super) fn in_memory(retention: Retention) -> Subject {
    Subject {
        log: Arc::new(MemoryLog::new(retention)),
        _runtime: None,
        folder: None,
    }
}

pub(super) fn on_disk(retention: Retention) -> Subject {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!(
        "floe-log-{}-{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let folder = std::env::temp_dir().join(name);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let settings = LogSettings {
        retention,
        ..LogSettings::default()
    };
    let log = SegmentLog::open(&folder, settings, runtime.handle().clone()).unwrap();
    Subject {
        log: Arc::new(log),
        _runtime: Some(runtime),
        folder: Some(folder),
    }
}

#[test]
fn a_folder_is_free_as_soon_as_its_log_is_closed_or_dropped() {
    let subject = on_disk(Retention::default());
    let folder = subject.folder.clone().expect("it is on disk");
    let runtime = subject
        ._runtime
        .as_ref()
        .expect("it has one")
        .handle()
        .clone();
    let open = || SegmentLog::open(&folder, LogSettings::default(), runtime.clone());
    let error = open().unwrap_err();
    assert!(error.to_string().contains("another hub uses it"), "{error}");
    subject
        .log
        .append(append(&[b"x"], 1), Level::Synced, Box::new(drop));
    subject.log.close();
    for at in 0..50 {
        let log = open().expect("the folder is free");
        assert!(log.contents().next >= 2, "what was closed is kept");
        log.append(append(&[b"y"], at), Level::Synced, Box::new(drop));
    }
    subject
        .log
        .maintain(EventTime::now())
        .expect("a closed log leaves the folder alone");
}

#[test]
fn old_events_expire_although_somebody_has_removed_the_file_of_the_oldest() {
    let keep = |bytes| Retention {
        bytes: Some(bytes),
        ..Retention::default()
    };
    let subject = on_disk(keep(4 << 20));
    let folder = subject.folder.clone().expect("it is on disk");
    let long = vec![1; 128 << 10];
    for at in 1..=32 {
        stored(&*subject.log, append(&[&long], at), Level::Synced).expect("it is stored");
    }
    let segments = || {
        let entries = std::fs::read_dir(&folder).expect("it is there");
        let paths = entries.map(|entry| entry.expect("it is there").path());
        let mut segments: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "log"))
            .collect();
        segments.sort();
        segments
    };
    let before = segments();
    assert!(before.len() > 2, "{before:?}");
    std::fs::remove_file(&before[0]).expect("it is there");
    subject.log.set_retention(keep(1));
    let maintained = subject.log.maintain(EventTime(33));
    maintained.expect("what is gone need not be removed");
    assert_eq!(segments(), before[before.len() - 1..]);
}
