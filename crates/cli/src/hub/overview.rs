//! The hub as a whole, its durable topics, and what was lost lately, as far as an older hub or an IceStorm tells.

use std::time::Duration;

use floe::Communicator;
use floe_hub::contracts::floe::{
    DurableTopicStatus, HubOverview, HubStatus, IceStormNoSuchTopicError, TopicTotals,
};

pub(crate) use floe_server::findings::Overview;

use super::{HubArgument, add, no_topic, pages, tells_nothing};
use crate::exit::{Exit, Failure};

impl HubArgument {
    /// The state of the hub without its topics, of which there may be many, but with its durable topics. Losses are those of
    /// this time until now.
    ///
    /// # Errors
    /// The hub does not tell, or does not answer.
    pub(crate) async fn overview(
        &self,
        communicator: &Communicator,
        since: Duration,
    ) -> Result<Overview, Failure> {
        let microseconds = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        match self.admin(communicator)?.overview(microseconds).await {
            Ok(hub) => Ok(Overview {
                hub,
                knows_recent: true,
                durable: self.durable_statuses(communicator).await?,
                storage_problems: self.storage_problems(communicator).await?,
                bridge_problems: self.bridge_problems(communicator).await?,
            }),
            Err(error) if tells_nothing(&error) => {
                let status = self.status(communicator).await?;
                let totals = self.totals(communicator).await?;
                let hub = overview_of(&status, totals);
                Ok(Overview {
                    hub,
                    knows_recent: false,
                    durable: None,
                    storage_problems: Vec::new(),
                    bridge_problems: Vec::new(),
                })
            }
            Err(error) => Err(self.unanswered(error.into())),
        }
    }

    async fn storage_problems(&self, communicator: &Communicator) -> Result<Vec<String>, Failure> {
        match self.admin(communicator)?.storage_problems().await {
            Ok(problems) => Ok(problems),
            Err(error) if tells_nothing(&error) => Ok(Vec::new()),
            Err(error) => Err(self.unanswered(error.into())),
        }
    }

    #[cfg(feature = "bridges")]
    async fn bridge_problems(&self, communicator: &Communicator) -> Result<Vec<String>, Failure> {
        let bridges = self.bridges(communicator).await?;
        let troubled = bridges.iter().filter(|bridge| !bridge.trouble.is_empty());
        Ok(troubled
            .map(|bridge| {
                format!(
                    "bridge {} ({}): {}",
                    bridge.world, bridge.place, bridge.trouble
                )
            })
            .collect())
    }

    /// A build without bridges does not ask for those of others.
    #[cfg(not(feature = "bridges"))]
    async fn bridge_problems(&self, _communicator: &Communicator) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// The hub and all its topics, read in pages if the hub has pages.
    ///
    /// # Errors
    /// The hub does not tell, or does not answer.
    pub(crate) async fn status_in_pages(
        &self,
        communicator: &Communicator,
    ) -> Result<HubStatus, Failure> {
        match self.admin(communicator)?.overview(0).await {
            Ok(hub) => Ok(HubStatus {
                uptime: hub.uptime,
                connections: hub.connections,
                connections_refused: hub.connections_refused,
                topics: self.topics_in_pages(communicator).await?,
            }),
            Err(error) if tells_nothing(&error) => self.status(communicator).await,
            Err(error) => Err(self.unanswered(error.into())),
        }
    }

    /// All topics, read in pages; `None` from a service that does not tell, or does not tell this caller.
    ///
    /// # Errors
    /// The hub does not answer.
    pub(crate) async fn known_topics(
        &self,
        communicator: &Communicator,
    ) -> Result<Option<Vec<TopicTotals>>, Failure> {
        let admin = self.admin(communicator)?;
        match admin.topics_after("").await {
            Ok(_) => pages::topics(&admin, self).await.map(Some),
            Err(error) if tells_nothing(&error) => Ok(None),
            Err(error) => match Failure::from(error) {
                failure if failure.is_access_refusal() => Ok(None),
                failure => Err(self.unanswered(failure)),
            },
        }
    }

    /// All durable topics with their subscriptions; `None` from a service that does not tell.
    ///
    /// # Errors
    /// The hub does not answer.
    pub(crate) async fn durable_statuses(
        &self,
        communicator: &Communicator,
    ) -> Result<Option<Vec<DurableTopicStatus>>, Failure> {
        let admin = self.admin(communicator)?;
        match admin.durable_topics_after("").await {
            Ok(first) => pages::durable_topics(&admin, first, self).await.map(Some),
            Err(error) if tells_nothing(&error) => Ok(None),
            Err(error) => Err(self.unanswered(error.into())),
        }
    }

    /// The log of a topic and its durable subscriptions; `None` if it is not durable, or the service does not tell.
    ///
    /// # Errors
    /// There is no such topic, or the hub does not answer.
    pub(crate) async fn durable_status(
        &self,
        communicator: &Communicator,
        name: &str,
    ) -> Result<Option<DurableTopicStatus>, Failure> {
        let admin = self.admin(communicator)?;
        let mut page = match admin.durable_topic(name, "").await {
            Ok(page) => page,
            Err(IceStormNoSuchTopicError::Invoke(error)) if tells_nothing(&error) => {
                return Ok(None);
            }
            Err(IceStormNoSuchTopicError::NoSuchTopic(_)) => return Err(no_topic(name)),
            Err(IceStormNoSuchTopicError::Invoke(error)) => {
                return Err(self.unanswered(error.into()));
            }
            Err(error) => return Err(Failure::new(Exit::Failure, error)),
        };
        let Some(mut topic) = page.pop() else {
            return Ok(None);
        };
        let mut size = pages::PagesSize::default();
        pages::rest_of_durable(&admin, &mut topic, &mut size, self).await?;
        Ok(Some(topic))
    }
}

/// The part of an overview that an older hub reports.
fn overview_of(status: &HubStatus, totals: Option<TopicTotals>) -> HubOverview {
    let totals = totals.unwrap_or_else(|| {
        let mut sum = TopicTotals::default();
        status.topics.iter().for_each(|topic| add(&mut sum, topic));
        sum
    });
    HubOverview {
        uptime: status.uptime,
        connections: status.connections,
        connections_refused: status.connections_refused,
        topics: i32::try_from(status.topics.len()).unwrap_or(i32::MAX),
        totals,
        ..HubOverview::default()
    }
}
