//! The objects of the bridge: the naming service, and a channel for each topic.

use std::sync::{Arc, Mutex, PoisonError};

use floe_giop::cdr::Encoder;
use floe_giop::cos::naming::{Name, NameComponent, NamingService, ROOT_KEY};
use floe_giop::cos::{Raised, References};
use floe_giop::message::Body;
use floe_giop::system_exception::SystemExceptionKind as Kind;

use super::channel::Channel;
use super::link::visitor::Visitor;
use super::refusal::Refusal;

/// All objects.
pub(super) struct Objects {
    naming: Mutex<NamingService>,
    channels: Vec<Arc<Channel>>,
}

impl Objects {
    /// A naming service that has each channel under its name.
    ///
    /// # Errors
    /// [`Raised`]: there are too many.
    pub(super) fn new(
        references: &References,
        channels: Vec<Arc<Channel>>,
    ) -> Result<Self, Raised> {
        let mut naming = NamingService::new(references.clone());
        for channel in &channels {
            let component = NameComponent {
                id: channel.name().to_owned(),
                kind: String::new(),
            };
            naming.bind(&Name(vec![component]), channel.reference())?;
        }
        Ok(Self {
            naming: Mutex::new(naming),
            channels,
        })
    }

    /// The channels.
    pub(super) fn channels(&self) -> &[Arc<Channel>] {
        &self.channels
    }

    /// The channel of this name.
    pub(super) fn channel(&self, name: &str) -> Option<&Arc<Channel>> {
        self.channels.iter().find(|channel| channel.name() == name)
    }

    /// True if an object has this key.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.naming().has(key) || self.channel_of(key).is_some()
    }

    /// Executes a request. May be cancelled.
    pub(super) async fn execute(
        &self,
        visitor: &Arc<Visitor>,
        key: &[u8],
        operation: &str,
        body: &Body,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        if let Some(channel) = self.channel_of(key) {
            return channel
                .execute(visitor, key, operation, body, results)
                .await;
        }
        let mut naming = self.naming();
        if !naming.has(key) {
            return Err(Raised::system(Kind::ObjectNotExist));
        }
        // Names lead to channels alone: a program that could bind others would send all to itself.
        let is_change = CHANGES.contains(&operation) || operation == "destroy" && key == ROOT_KEY;
        if is_change {
            return Err(Refusal::ReadOnly.into());
        }
        naming.dispatch(key, operation, &mut body.decoder(), results)
    }

    fn channel_of(&self, key: &[u8]) -> Option<&Arc<Channel>> {
        let end = key.iter().position(|byte| *byte == b'/');
        let name = &key[..end.unwrap_or(key.len())];
        let mut channels = self.channels.iter();
        let channel = channels.find(|channel| channel.name().as_bytes() == name)?;
        channel.has(key).then_some(channel)
    }

    fn naming(&self) -> std::sync::MutexGuard<'_, NamingService> {
        self.naming.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Operations that change names.
const CHANGES: [&str; 7] = [
    "bind",
    "rebind",
    "bind_context",
    "rebind_context",
    "unbind",
    "new_context",
    "bind_new_context",
];
