//! What subscribers hear, and how they answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use floe::{
    DispatchFuture, DispatchSlot, Dispatcher, Request, RequestFailed, Requests, SystemException,
};
use tokio::sync::watch;

use super::EARS;

/// How a subscriber answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    /// With an exception: perhaps it is better later.
    Failing,
    /// Not before its mood changes.
    Stuck,
    /// As if it did not exist.
    Missing,
}

/// An event's topic, publisher and number.
pub(super) type Heard = (usize, usize, u64);

/// All subscribers: each is a facet of an identity, so that one that takes the place of another is told from it.
pub(super) struct Ears {
    moods: Vec<watch::Sender<Mood>>,
    heard: Mutex<BTreeMap<String, Vec<Heard>>>,
}

impl Ears {
    pub(super) fn new() -> Self {
        Self {
            moods: (0..EARS).map(|_| watch::channel(Mood::Well).0).collect(),
            heard: Mutex::default(),
        }
    }

    pub(super) fn set_mood(&self, ear: usize, mood: Mood) {
        self.moods[ear].send_replace(mood);
    }

    pub(super) fn mood(&self, ear: usize) -> Mood {
        *self.moods[ear].borrow()
    }

    /// What the subscriber with this facet has heard.
    pub(super) fn heard(&self, facet: &str) -> Vec<Heard> {
        let heard = self.heard.lock().expect("nobody panics with it");
        heard.get(facet).cloned().unwrap_or_default()
    }
}

/// The operation of an event.
pub(super) fn operation((topic, publisher, number): Heard) -> String {
    format!("{topic} {publisher} {number}")
}

fn parse(operation: &str) -> Option<Heard> {
    let mut parts = operation.split(' ');
    let mut part = || parts.next()?.parse::<u64>().ok();
    Some((part()? as usize, part()? as usize, part()?))
}

/// The servant of them all.
pub(super) struct Listening(pub(super) Arc<Ears>);

impl Dispatcher for Listening {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Listening {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let current = request.current();
        let event = parse(current.operation()).expect("one of the test's events");
        let ear: usize = current.identity().name.parse().expect("an ear");
        let mut heard = self.0.heard.lock().expect("nobody panics with it");
        let facet = current.facet().to_owned();
        heard.entry(facet).or_default().push(event);
        drop(heard);
        let mut mood = self.0.moods[ear].subscribe();
        Box::pin(async move {
            let mood = *mood
                .wait_for(|mood| *mood != Mood::Stuck)
                .await
                .expect("the test lives");
            match mood {
                Mood::Failing => Err(SystemException::UnknownException("it fails".to_owned())),
                Mood::Missing => Err(SystemException::ObjectNotExist(RequestFailed::default())),
                Mood::Well | Mood::Stuck => request.returned_nothing(),
            }
        })
    }
}
