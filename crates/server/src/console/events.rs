//! The stream of looks, as server-sent events.
//!
//! A look is taken and written when the connection has room for it: a browser that reads slowly gets fewer looks, always the latest,
//! and costs nothing more. Source: HTML Living Standard, "Server-sent events".

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::HeaderMap;
use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::gate::Gate;
use super::selection::Selection;
use super::snapshot::snapshot;
use super::watcher::{INTERVAL, Watcher};

/// The events of one connection.
pub(super) struct Events {
    source: Source,
    next: Option<Next>,
    has_begun: bool,
    has_ended: bool,
    /// One of the streams that there may be.
    _permit: OwnedSemaphorePermit,
}

type Next = Pin<Box<dyn Future<Output = (Bytes, bool)> + Send>>;

/// Where the events come from, and for whom they are.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) watcher: Arc<Watcher>,
    pub(super) gate: Arc<Gate>,
    pub(super) selection: Selection,
    pub(super) peer: IpAddr,
    pub(super) headers: HeaderMap,
}

impl Events {
    pub(super) fn new(source: Source, permit: OwnedSemaphorePermit) -> Self {
        Self {
            source,
            next: None,
            has_begun: false,
            has_ended: false,
            _permit: permit,
        }
    }

    /// The next event; none behind the last one.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let next = self.next.get_or_insert_with(|| {
            let (source, waits) = (self.source.clone(), self.has_begun);
            Box::pin(async move {
                if waits {
                    tokio::time::sleep(INTERVAL).await;
                }
                source.event().await
            })
        });
        let (event, is_last) = std::task::ready!(next.as_mut().poll(context));
        self.next = None;
        (self.has_begun, self.has_ended) = (true, is_last);
        Poll::Ready(Some(event))
    }
}

impl Source {
    /// The next event, and whether it is the last one: the rules, or the time of a token, may have ended the right to watch.
    async fn event(&self) -> (Bytes, bool) {
        match self.gate.rights(self.peer, &self.headers) {
            Ok(rights) => {
                let sample = self.watcher.sample().await;
                let token = self.gate.change_token();
                let data = snapshot(&sample, &self.selection, &rights, token);
                (
                    Bytes::from(format!("event: snapshot\ndata: {data}\n\n")),
                    false,
                )
            }
            Err(refused) => {
                let data = json!({ "error": refused.message });
                (
                    Bytes::from(format!("event: refused\ndata: {data}\n\n")),
                    true,
                )
            }
        }
    }
}
