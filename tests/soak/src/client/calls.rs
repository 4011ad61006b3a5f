//! The kinds of calls.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use floe::{InvokeError, TypedProxy};

use super::worker::Worker;
use crate::contract::soak::{RefusedError, TargetProxy};
use crate::id::{CallId, Kind};
use crate::journal::Note;

/// Calls in flight at once.
const MANY: usize = 50;
/// Oneway calls one after another, at most.
const ONEWAYS_MAX: usize = 30;
/// Bytes of most data, and of one in twenty; the limit of a message is 1 MiB.
const DATA_MAX: usize = 4_000;
const LARGE_DATA_MAX: usize = 900_000;
/// How long a late reply takes at most, in milliseconds.
const LINGER_MAX: usize = 200;

impl Worker {
    pub(super) async fn once(&mut self, target: &TargetProxy) {
        let id = self.notes.begin(Kind::Once);
        let result = target.once(id.wire()).await;
        self.settle(id, result);
    }

    pub(super) async fn again(&mut self, target: &TargetProxy) {
        let id = self.notes.begin(Kind::Again);
        let result = target.again(id.wire()).await;
        self.settle(id, result);
    }

    pub(super) async fn refuse(&mut self, target: &TargetProxy) {
        let id = self.notes.begin(Kind::Refuse);
        match target.refuse(id.wire()).await {
            Err(RefusedError::Refused(refused)) if refused.id == id.wire() => {
                self.notes.end_call(id, Note::Promised);
            }
            Err(RefusedError::Invoke(error)) => self.notes.fail(id, &error),
            other => self.odd(id, &format!("{other:?}")),
        }
    }

    pub(super) async fn carry(&mut self, target: &TargetProxy) {
        let limit = match self.random.below(20) {
            0 => LARGE_DATA_MAX,
            _ => DATA_MAX,
        };
        let len = self.random.below(limit);
        // Half of it can be compressed.
        let mut data = vec![self.random.next() as u8; len];
        for byte in &mut data[len / 2..] {
            *byte = self.random.next() as u8;
        }
        let id = self.notes.begin(Kind::Carry);
        match target.carry(id.wire(), &data).await {
            Ok(returned) if returned == data => self.notes.end_call(id, Note::Promised),
            Ok(returned) => self.odd(id, &format!("{} other bytes for {len}", returned.len())),
            Err(error) => self.notes.fail(id, &error),
        }
    }

    pub(super) async fn linger(&mut self, target: &TargetProxy) {
        let id = self.notes.begin(Kind::Linger);
        let duration = self.random.below(LINGER_MAX) as i32;
        let result = target.linger(id.wire(), duration).await;
        self.settle(id, result);
    }

    pub(super) async fn call_back(&mut self, target: &TargetProxy) {
        let Ok(Some(connection)) = target.ice_connection().await else {
            return;
        };
        connection.set_adapter(Some(&self.places.adapter));
        let id = self.notes.begin(Kind::CallBack);
        let result = target.ice_fixed(&connection).call_back(id.wire()).await;
        self.settle(id, result);
    }

    /// Calls without replies, alone or in a batch; then one with a reply over the same connection: what comes
    /// before it was executed, if it was.
    pub(super) async fn oneways(&mut self, target: &TargetProxy, kind: Kind) {
        let Ok(Some(connection)) = target.ice_connection().await else {
            return;
        };
        let fixed = target.ice_fixed(&connection);
        let silent = match kind {
            Kind::Batch => fixed.ice_batch_oneway(),
            _ => fixed.ice_oneway(),
        };
        let mut sent = Vec::new();
        for _ in 0..=self.random.below(ONEWAYS_MAX) {
            let id = self.notes.begin(kind);
            match silent.once(id.wire()).await {
                Ok(()) => sent.push(id),
                Err(error) => self.notes.fail(id, &error),
            }
        }
        let flushed = silent.ice_flush_batch().await;
        let id = self.notes.begin(Kind::Again);
        let fence = fixed.again(id.wire()).await;
        let note = match (&flushed, &fence) {
            (Ok(()), Ok(())) => Note::Promised,
            (Err(InvokeError::NotDispatched(_)), _) if kind == Kind::Batch => Note::Denied,
            _ => Note::Unknown,
        };
        for sent in sent {
            self.notes.end_call(sent, note);
        }
        self.settle(id, fence);
    }

    /// Calls that may be lost, and are not executed twice.
    pub(super) async fn datagrams(&mut self) {
        if self.places.datagrams.is_empty() {
            return;
        }
        let target = self.random.pick(&self.places.datagrams).ice_datagram();
        for _ in 0..=self.random.below(ONEWAYS_MAX) {
            let id = self.notes.begin(Kind::Datagram);
            match target.once(id.wire()).await {
                Ok(()) => self.notes.end_call(id, Note::Unknown),
                Err(error) => self.notes.fail(id, &error),
            }
        }
    }

    /// Many calls in flight at once.
    pub(super) async fn many(&mut self, target: &TargetProxy) {
        let mut calls: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
        for _ in 0..MANY {
            let (notes, target) = (self.notes.clone(), target.clone());
            calls.push(Box::pin(async move {
                let id = notes.begin(Kind::Many);
                match target.once(id.wire()).await {
                    Ok(()) => notes.end_call(id, Note::Promised),
                    Err(error) => notes.fail(id, &error),
                }
            }));
        }
        poll_fn(|context| {
            calls.retain_mut(|call| call.as_mut().poll(context).is_pending());
            match calls.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    fn settle(&self, id: CallId, result: Result<(), InvokeError>) {
        match result {
            Ok(()) => self.notes.end_call(id, Note::Promised),
            Err(error) => self.notes.fail(id, &error),
        }
    }

    fn odd(&self, id: CallId, what: &str) {
        eprintln!("odd: a call of kind {:?} gave {what}", id.kind());
        self.notes.end_call(id, Note::Odd);
    }
}
