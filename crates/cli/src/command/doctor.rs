//! `floe doctor`: what can be reached, what is misconfigured, and the limits of this computer.

use std::time::Instant;

use clap::Args;
use floe::contracts::ice_storm::TopicManagerProxy;
use floe::reference::Target;
use floe::{Communicator, ConnectionInfo, Endpoint, TypedProxy};
use serde_json::{Value as Json, json};

use crate::context;
use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::hub::{HubArgument, TOPIC_MANAGER};
use crate::output::Output;
use crate::peer::{self, TimeoutArgument};

use super::durable_rows::largest_lag;
use floe_server::findings::{Thresholds, problems};

/// Finds problems of the hub and this computer, and says what to do
///
/// It checks the settings in force, the limits of this computer, each endpoint of the hub, and the state of the
/// hub. Exit code 100: there is a problem. 2: the settings cannot be used at all, as for every other command.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

/// A check, and its result.
struct Check {
    name: &'static str,
    /// The problem and what to do about it; none if all is well.
    problem: Option<String>,
    found: String,
}

impl Check {
    fn well(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            problem: None,
            found: found.into(),
        }
    }

    fn problem(name: &'static str, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            name,
            problem: Some(help.into()),
            found: found.into(),
        }
    }

    fn to_json(&self) -> Json {
        json!({
            "check": self.name,
            "ok": self.problem.is_none(),
            "found": self.found,
            "what_to_do": self.problem,
        })
    }
}

impl Doctor {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::run(self.timeout, async |communicator| {
            let mut checks = vec![self.settings()];
            checks.extend(open_files());
            checks.extend(accept_queue());
            checks.extend(certificates());
            self.look_at_hub(&communicator, &mut checks).await?;
            let rows: Vec<Json> = checks.iter().map(Check::to_json).collect();
            match output.format() {
                crate::output::Format::Table => tell(&checks, output)?,
                _ => output.rows(&["check", "ok", "found", "what_to_do"], &rows)?,
            }
            Ok(match checks.iter().any(|check| check.problem.is_some()) {
                true => Exit::Findings,
                false => Exit::Success,
            })
        })
    }

    fn settings(&self) -> Check {
        const NAME: &str = "settings";
        let hub = self.hub.described();
        match context::chosen() {
            Some(chosen) => {
                Check::well(NAME, format!("context `{}`; the hub is {hub}", chosen.name))
            }
            None => Check::well(NAME, format!("no context; the hub is {hub}")),
        }
    }

    async fn look_at_hub(
        &self,
        communicator: &Communicator,
        checks: &mut Vec<Check>,
    ) -> Result<(), Failure> {
        let manager = self.hub.manager(communicator)?;
        let endpoints = match manager.as_proxy().find_endpoints().await {
            Ok(endpoints) => endpoints,
            Err(error) => {
                let failure = self.hub.unanswered(error.into());
                let help = failure.what_to_do().unwrap_or(LOCATOR_HELP);
                checks.push(Check::problem(HUB_ENDPOINT, failure.message(), help));
                return Ok(());
            }
        };
        let mut reached = None;
        for endpoint in &endpoints {
            let (check, info) = self.look_at_endpoint(&manager, endpoint).await;
            reached = reached.or(info);
            checks.push(check);
        }
        let Some(info) = reached else {
            return Ok(());
        };
        checks.push(way_back(&info));
        checks.push(self.topic_manager(&manager).await);
        checks.push(self.health(communicator).await);
        Ok(())
    }

    async fn look_at_endpoint(
        &self,
        manager: &TopicManagerProxy,
        endpoint: &Endpoint,
    ) -> (Check, Option<ConnectionInfo>) {
        let mut reference = manager.as_proxy().reference().clone();
        reference.target = Target::Direct(vec![endpoint.clone()]);
        let alone = manager.as_proxy().with_reference(reference);
        let shown = readable(&endpoint.to_string());
        let begin = Instant::now();
        match alone.ice_connection().await {
            Ok(connection) => {
                let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
                let found = format!("{shown}: connected in {milliseconds:.1} ms");
                let info = connection.map(|connection| connection.info());
                (Check::well(HUB_ENDPOINT, found), info)
            }
            Err(error) => {
                let failure = self.hub.unanswered(error.into());
                let help = failure.what_to_do().unwrap_or(SILENT_HELP);
                // Most failures to connect name the endpoint. One that is over because of --timeout does not.
                let message = failure.message();
                let found = match message.contains(&shown) {
                    true => message.to_owned(),
                    false => format!("{shown}: {message}"),
                };
                (Check::problem(HUB_ENDPOINT, found, help), None)
            }
        }
    }

    async fn topic_manager(&self, manager: &TopicManagerProxy) -> Check {
        const NAME: &str = "topic manager";
        let identity = manager.as_proxy().reference().identity.to_string();
        match manager.ice_is_a(TOPIC_MANAGER).await {
            Ok(true) => Check::well(NAME, format!("{identity} answers")),
            Ok(false) => Check::problem(
                NAME,
                format!("{identity} is another object"),
                "give the proxy of the topic manager with --hub",
            ),
            Err(error) => Check::problem(
                NAME,
                readable(&error.to_string()),
                "is it a hub, and is its instance name `IceStorm`? --hub takes the whole proxy of the topic manager",
            ),
        }
    }

    async fn health(&self, communicator: &Communicator) -> Check {
        const NAME: &str = "health of the hub";
        let thresholds = Thresholds::default();
        let overview = match self.hub.overview(communicator, thresholds.since).await {
            Ok(overview) => overview,
            Err(failure) if failure.exit() == Exit::NotFound => {
                return Check::well(NAME, "not known: it is no Floe hub");
            }
            Err(failure) => {
                let help = failure.what_to_do().unwrap_or("look at the log of the hub");
                return Check::problem(NAME, failure.message(), help);
            }
        };
        let problems = problems(&overview, &thresholds);
        match problems.is_empty() {
            true => {
                let count = overview.hub.topics;
                let noun = if count == 1 { "topic" } else { "topics" };
                let durable = overview.durable.iter().flatten();
                let (logs, lag) = durable.fold((0, 0), |(count, lag), topic| {
                    (count + 1, lag.max(largest_lag(topic).0))
                });
                let durable = match logs {
                    0 => String::new(),
                    logs => format!(
                        ", {logs} of them durable, whose subscriptions are at most {lag} events behind"
                    ),
                };
                Check::well(NAME, format!("{count} {noun}{durable}, no problems"))
            }
            false => Check::problem(NAME, problems.join("; "), HEALTH_HELP),
        }
    }
}

/// Advice if a problem of the hub has a topic.
const HEALTH_HELP: &str = "`floe status` lists them with thresholds of your own, `floe topic watch` and `floe topic info TOPIC` show which \
                           subscribers are meant, and `floe topic position TOPIC` where durable subscriptions are; one that nobody needs any more goes with \
                           `floe topic position TOPIC NAME --remove`";

/// The name of the check of an endpoint.
const HUB_ENDPOINT: &str = "endpoint of the hub";

/// Advice if the locator does not answer, or does not know the hub.
const LOCATOR_HELP: &str =
    "only a locator knows where this hub is: is the locator running, and does it know this hub?";

/// Advice if something listens at an endpoint and does not answer as a hub does.
const SILENT_HELP: &str = "does a hub listen there, and for this transport? `floe doctor` on its own computer and its log say more";

/// Where a hub finds the subscribers of this computer.
fn way_back(info: &ConnectionInfo) -> Check {
    const NAME: &str = "way back";
    match info.local_address {
        Some(address) if !address.ip().is_loopback() => Check::well(
            NAME,
            format!(
                "`floe sub` listens at {}, if no firewall is between",
                address.ip()
            ),
        ),
        _ => Check::well(NAME, "the hub is on this computer"),
    }
}

/// Each connection takes a descriptor. A hub raises the limit up to what the system allows.
#[cfg(unix)]
fn open_files() -> Option<Check> {
    use rustix::process::{Resource, getrlimit};
    const NAME: &str = "open files";
    let limit = getrlimit(Resource::Nofile);
    let shown = |limit: Option<u64>| limit.map_or_else(|| "any".to_owned(), |it| it.to_string());
    let found = format!(
        "{} now, {} at most",
        shown(limit.current),
        shown(limit.maximum)
    );
    Some(match limit.maximum {
        Some(maximum) if maximum < OPEN_FILES_MIN => Check::problem(
            NAME,
            found,
            "a hub here serves few connections: raise the hard limit (LimitNOFILE= of a systemd unit, or limits.conf)",
        ),
        _ => Check::well(NAME, found),
    })
}

#[cfg(not(unix))]
fn open_files() -> Option<Check> {
    None
}

/// A hub with a thousand subscribers needs twice as many descriptors.
#[cfg(unix)]
const OPEN_FILES_MIN: u64 = 4096;

/// How many connections may wait to be accepted, where the system tells.
fn accept_queue() -> Option<Check> {
    const NAME: &str = "connections that wait to be accepted";
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?;
    let limit: u64 = text.trim().parse().ok()?;
    let found = format!("{limit} at most");
    Some(match limit < ACCEPT_QUEUE_MIN {
        true => Check::problem(
            NAME,
            found,
            "many clients that start together may be refused: raise net.core.somaxconn with sysctl",
        ),
        false => Check::well(NAME, found),
    })
}

/// Fewer are not enough for a hundred clients that come back together.
const ACCEPT_QUEUE_MIN: u64 = 128;

/// Checks that our own certificates are still valid.
#[cfg(feature = "tls")]
fn certificates() -> Vec<Check> {
    use super::proxy::days_left;
    const NAME: &str = "certificate";
    let said = crate::tls::said();
    let files = said.ca.iter().chain(&said.cert);
    let look = |file: &std::path::PathBuf| {
        let days = days_left(&std::fs::read(file).ok()?)?;
        let shown = file.display();
        Some(match days {
            ..0 => Check::problem(NAME, format!("{shown} has expired"), "renew it"),
            0..=30 => Check::problem(NAME, format!("{shown} expires in {days} days"), "renew it"),
            _ => Check::well(NAME, format!("{shown} is good for {days} days")),
        })
    };
    files.filter_map(look).collect()
}

#[cfg(not(feature = "tls"))]
fn certificates() -> Vec<Check> {
    Vec::new()
}

fn tell(checks: &[Check], output: &Output) -> Result<(), Failure> {
    for check in checks {
        let found = format!("{}: {}", check.name, check.found);
        match &check.problem {
            None => output.labelled("ok       ", &found)?,
            Some(help) => {
                output.labelled("PROBLEM  ", &found)?;
                output.labelled("         ", help)?;
            }
        }
    }
    Ok(())
}
