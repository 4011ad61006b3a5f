//! Floe: documents, with each of its compressions.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use floe::settings::Compression;
use floe::{Communicator, Current, InvokeError, Settings, TypedProxy};
use tokio::runtime::Builder;

use super::case::{Case, Document, Turn, Work, documents_only};
use super::contract::floe_documents::{Library, LibraryDispatcher, LibraryProxy};
use super::{READY, SENT, SlowContender, note, pause};
use crate::contender::codec::contract::floe_lab::{Bibliography, Lines};
use crate::contender::codec::value::{bibliography, text};
use crate::contender::{Contender, Failure, Origin, announce};
use crate::sample::Sample;
use crate::slow_line::own_host;

/// Floe with one compression, or none.
macro_rules! contender {
    ($name:literal, $compression:expr) => {
        Contender {
            name: $name,
            refusal: |case| refusal(case, $compression),
            encoding: None,
            origin: Origin::Slow(&SlowContender {
                peer: None,
                serve: |_| serve(),
                call: |case, address| call(case, address, $compression),
            }),
        }
    };
}

pub(crate) const FLOE: Contender = contender!("floe", None);
pub(crate) const FLOE_BZIP2: Contender = contender!("floe-bzip2", Some(Compression::Bzip2));
pub(crate) const FLOE_ZSTD: Contender = contender!("floe-zstd", Some(Compression::Zstd));
pub(crate) const FLOE_BROTLI: Contender = contender!("floe-brotli", Some(Compression::Brotli));
pub(crate) const FLOE_STREAM: Contender = contender!("floe-stream", Some(Compression::ZstdStream));

fn refusal(case: &str, compression: Option<Compression>) -> Option<&'static str> {
    match compression {
        Some(compression) if !compression.is_built() => {
            Some("this program was built without the compression: see the features zstd and brotli")
        }
        _ => documents_only(case),
    }
}

/// Takes documents.
#[derive(Debug, Default)]
struct Shelf {
    taken: AtomicI64,
}

impl Shelf {
    fn add(&self, count: usize) {
        self.taken.fetch_add(count as i64, Ordering::Relaxed);
    }
}

impl Library for Shelf {
    async fn take_text(&self, text: Lines, _current: &Current) -> Result<(), InvokeError> {
        self.add(text.len());
        Ok(())
    }

    async fn take_bibliography(
        &self,
        bibliography: Bibliography,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        self.add(bibliography.len());
        Ok(())
    }

    async fn taken(&self, _current: &Current) -> Result<i64, InvokeError> {
        Ok(self.taken.load(Ordering::Relaxed))
    }
}

fn serve() -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut settings = Settings::default();
        let offered = Compression::ALL.into_iter();
        settings.compressions = offered.filter(|one| one.is_built()).collect();
        let communicator = Communicator::with_settings(settings);
        let endpoint = format!("tcp -h {} -p 0", own_host());
        let adapter = communicator.adapter(&endpoint).await?;
        let library = adapter.add("library", LibraryDispatcher::new(Shelf::default()))?;
        adapter.activate();
        announce(&library.to_string())?;
        std::future::pending().await
    })
}

fn call(case: Case, address: &str, compression: Option<Compression>) -> Result<Sample, Failure> {
    let Work::Document { document, turn } = case.work else {
        return Err("it sends documents".into());
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let communicator = Communicator::new();
        let library: LibraryProxy = communicator.proxy(address)?;
        let library = match compression {
            Some(compression) => library.ice_compression(compression),
            None => library,
        };
        let mut sender = Sender {
            library,
            text: text(),
            bibliography: bibliography(),
            sent: 0,
        };
        sender.library.ice_ping().await?;
        let (before, measured) = turn.counts();
        for _ in 0..before {
            sender.send(document).await?;
        }
        pause(READY)?;
        let mut sample = Sample::new();
        for number in 0..measured {
            if turn == Turn::Edited {
                edit(&mut sender.bibliography, number);
            }
            let started = Instant::now();
            sender.send(document).await?;
            note(&mut sample, started);
        }
        pause(SENT)?;
        let (expected, taken) = (sender.sent as i64, sender.library.taken().await?);
        match taken == expected {
            true => Ok(sample),
            false => Err(format!("expected {expected} items to be taken, got {taken}").into()),
        }
    })
}

/// Sends documents.
struct Sender {
    library: LibraryProxy,
    text: Lines,
    bibliography: Bibliography,
    /// Lines and entries.
    sent: usize,
}

impl Sender {
    async fn send(&mut self, document: Document) -> Result<(), InvokeError> {
        match document {
            Document::Text => {
                self.sent += self.text.len();
                self.library.take_text(&self.text).await
            }
            Document::Bibliography => {
                self.sent += self.bibliography.len();
                self.library.take_bibliography(&self.bibliography).await
            }
        }
    }
}

/// Changes an entry, which is another one each time.
fn edit(bibliography: &mut Bibliography, number: usize) {
    let index = (number * STRIDE) % bibliography.len();
    let entry = &mut bibliography[index];
    entry.year += 1;
    entry.title = format!("{} (edition {})", entry.title, number + 2);
}

/// Entries from one that is changed to the next.
const STRIDE: usize = 7;
