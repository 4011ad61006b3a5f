//! `floe topic create`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use floe::contracts::ice_storm::{TopicExistsError, TopicProxy};
use floe::{Communicator, TypedProxy};
use serde_json::json;

use super::attempts::Attempts;
use super::{Access, durable};
use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Creates topics. Exit code 5: a topic exists already
///
/// It tries all of them, and reports the result of each.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Their names
    #[arg(required = true, value_parser = NonEmptyStringValueParser::new())]
    names: Vec<String>,

    /// Keeps their events on the disk of the hub: subscribers can read earlier ones, and have positions
    #[arg(long)]
    durable: bool,

    /// Also succeeds if a topic exists already
    #[arg(long)]
    exist_ok: bool,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Create {
    pub(super) async fn run(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let mut rows = Vec::with_capacity(self.names.len());
        let mut attempts = Attempts::default();
        for name in &self.names {
            if let Some(topic) = attempts.note(self.create(communicator, name).await)? {
                let proxy = readable(&topic.as_proxy().to_string());
                rows.push(json!({"name": name, "proxy": proxy}));
            }
        }
        if !rows.is_empty() {
            output.rows(&["name", "proxy"], &rows)?;
        }
        attempts.finish()
    }

    async fn create(&self, communicator: &Communicator, name: &str) -> Result<TopicProxy, Failure> {
        let hub = &self.access.hub;
        if self.durable {
            durable::create(hub, communicator, name, self.exist_ok).await?;
            return hub.topic(communicator, name).await;
        }
        match hub.manager(communicator)?.create(name).await {
            Ok(topic) => Ok(topic),
            Err(TopicExistsError::TopicExists(_)) if self.exist_ok => {
                hub.topic(communicator, name).await
            }
            Err(TopicExistsError::TopicExists(_)) => {
                let message = format!("the topic `{name}` exists already");
                Err(Failure::new(Exit::Refused, message).help("add --exist-ok if that is fine"))
            }
            Err(TopicExistsError::Invoke(error)) => Err(hub.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }
}
