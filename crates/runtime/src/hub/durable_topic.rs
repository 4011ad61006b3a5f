//! Durable topics for clients: a Floe hub keeps their events on its disk.

use floe_wire::message::SystemException;

use super::client::{failed, with_answer_timeout};
use super::{HubClient, HubError, Topic};
use crate::call::Call;
use crate::codegen::{self, OperationInfo};
use crate::contracts::ice_storm::TopicExistsError;
use crate::error::InvokeError;
use crate::proxy::{Proxy, TypedProxy};

impl HubClient {
    /// The durable topic with this name: a Floe hub keeps its events on disk, for subscribers that come later or come back
    /// ([`Qos::durable`](super::Qos::durable)). Creates it if there is none.
    ///
    /// # Errors
    /// [`HubError::NotDurable`] if there is a topic of this name that is not durable; [`HubError::NoDurableTopics`] if the hub is no Floe
    /// hub, or has no folder to keep events in; [`HubError::Hub`].
    pub async fn durable_topic(&self, name: &str) -> Result<Topic, HubError> {
        let identity = DURABLE_TOPICS.parse().expect("it is an identity");
        let topics = self.manager().as_proxy().ice_identity(identity);
        let topics = with_answer_timeout(&topics);
        match create(&topics, name).await {
            Ok(()) => {}
            Err(TopicExistsError::TopicExists(_)) => self.check_durable(&topics, name).await?,
            Err(TopicExistsError::Invoke(error)) => return Err(self.explained(error)),
        }
        self.existing_topic(name).await
    }

    /// Asks where the log of a topic begins, which only a durable topic knows.
    async fn check_durable(&self, topics: &Proxy, name: &str) -> Result<(), HubError> {
        match locate(topics, name).await {
            Ok(_) => Ok(()),
            Err(InvokeError::UndeclaredException { type_id }) if type_id == NOT_DURABLE => {
                Err(HubError::NotDurable {
                    topic: name.to_owned(),
                })
            }
            Err(error) => Err(self.explained(error)),
        }
    }

    fn explained(&self, error: InvokeError) -> HubError {
        match error {
            InvokeError::System(
                SystemException::ObjectNotExist(_) | SystemException::OperationNotExist(_),
            ) => HubError::NoDurableTopics,
            error => failed(self.manager(), error),
        }
    }
}

/// `void create(string name) throws IceStorm::TopicExists` of `::Floe::DurableTopics`. Its contract belongs to the hub, and
/// this is what clients need of it.
fn create<'call>(
    topics: &'call Proxy,
    name: &'call str,
) -> Call<'call, (), TopicExistsError, (&'call str,)> {
    const OPERATION: OperationInfo = codegen::operation("create", true);
    codegen::call(topics, &OPERATION, (name,), codegen::nothing)
}

/// `idempotent long locate(string topic, string from)` of `::Floe::DurableTopics`.
fn locate<'call>(
    topics: &'call Proxy,
    name: &'call str,
) -> Call<'call, i64, InvokeError, (&'call str, &'call str)> {
    const OPERATION: OperationInfo = codegen::idempotent("locate", true);
    codegen::call(topics, &OPERATION, (name, "beginning"), codegen::one)
}

/// The identity of the object for durable topics.
const DURABLE_TOPICS: &str = "Floe/DurableTopics";

const NOT_DURABLE: &str = "::Floe::NotDurable";
