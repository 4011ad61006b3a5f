//! Floe: the hub of the `floe` command, and publishers and subscribers as programs of users would be.
//!
//! The lab cannot use the hub, which stands beside it; but `floe lab` is run by the command that also serves one.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use ::floe::blocking::{Communicator, Wait};
use ::floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use ::floe::{Current, InvokeError, TypedProxy};
use std::sync::Mutex;

use super::case::Case;
use super::daemon::{Daemon, scratch};
use super::guide;
use super::publishing::publish_all;
use super::tally::Tally;
use super::{Cast, Clients, EventsContender, Service};
use crate::contender::{Contender, Failure, Origin, end_with_stdin};
use crate::measure::Effort;
use contract::floe_events::{TickerBlocking, TickerDispatcher, TickerProxy};

pub(super) mod contract {
    floe::include_contract!("Events");
}

/// A hub without a single setting, and the programs of the guide: see `guide.rs`.
pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve(&[])),
        clients: Clients::Own(Cast {
            publish: guide::publish,
            subscribe: |case, effort, address, _| guide::subscribe(case, effort, address),
        }),
    }),
};

/// That hub, with blocking publishers and servants as subscribers, without a single setting either.
pub(crate) const FLOE_SERVANT: Contender = Contender {
    name: "floe-servant",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve(&[])),
        clients: Clients::Own(Cast {
            publish: |case, effort, address, index| publish(case, effort, address, index, ""),
            subscribe: |case, effort, address, index| subscribe(case, effort, address, index, &[]),
        }),
    }),
};

/// Floe's hub with the settings that pay off in this scenario.
pub(crate) const FLOE_TUNED: Contender = Contender {
    name: "floe-tuned",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve(&TUNED_HUB)),
        clients: Clients::Own(Cast {
            publish: |case, effort, address, index| {
                publish(case, effort, address, index, WAITING_FACET)
            },
            subscribe: |case, effort, address, index| {
                subscribe(case, effort, address, index, &TUNED_SUBSCRIBER)
            },
        }),
    }),
};

/// [`FLOE`] with rules of access.
pub(crate) const FLOE_RULES: Contender = Contender {
    name: "floe-rules",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| {
            let settings = scratch("floe.toml");
            std::fs::write(&settings, include_str!("rules.toml"))?;
            serve(&["--config", super::utf8(&settings)?])
        }),
        clients: Clients::Own(Cast {
            publish: guide::publish,
            subscribe: |case, effort, address, _| guide::subscribe(case, effort, address),
        }),
    }),
};

/// The topic; the length of its name is part of every event's.
pub(super) const TOPIC: &str = "tick";

/// The identity of a subscriber; as long as that of the topic's publisher object.
pub(super) fn subscriber_name(index: usize) -> String {
    format!("{TOPIC}.subscriber.{index:04}")
}

/// A hub that keeps nothing on disk, with further settings.
pub(super) fn serve(settings: &[&str]) -> Result<(), Failure> {
    let settings = settings.iter().map(OsStr::new);
    let arguments: Vec<_> = std::iter::once(OsStr::new("--transient"))
        .chain(settings)
        .collect();
    serve_hub(&arguments, |_| Ok(()))
}

/// A hub with these arguments, once it is prepared with the proxy of its topic manager. The command that runs this also serves hubs;
/// the lab's own program for tests does not.
pub(super) fn serve_hub(
    arguments: &[&OsStr],
    prepare: impl FnOnce(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["serve", "--listen", "tcp -h 127.0.0.1 -p 0"])
        .args(arguments)
        .stdout(Stdio::piped());
    let mut daemon = Daemon::start(&mut command)?;
    let find = |line: &str| line.strip_prefix("ready ").map(str::to_owned);
    let manager = Daemon::hear(daemon.stdout()?, find).map_err(|error| {
        format!(
            "expected a hub from `floe serve`, which the lab's own program does not have: {error}"
        )
    })?;
    prepare(&manager)?;
    daemon.serve(&manager)
}

/// The queues of the tuned hub are as long as its subscribers ask: other services have no limit at all by default. Its
/// rests are as long as they raise the throughput.
const TUNED_HUB: [&str; 6] = [
    "--queue-events",
    "4000000000",
    "--queue-bytes",
    "1000000000000",
    "--rest-max",
    "1ms",
];

/// Tuned subscribers make publishers wait without a limit rather than lose an event, and may have as many unanswered
/// requests from the start as the window of others grows to.
const TUNED_SUBSCRIBER: [(&str, &str); 3] = [
    ("floe.overflow", "block"),
    ("floe.queueEvents", "100000"),
    ("floe.outstanding", "1000"),
];

/// Where tuned publishers wait for room: of the hub, which the lab cannot use.
const WAITING_FACET: &str = "floe.wait";

fn topic(communicator: &Communicator, manager: &str) -> Result<TopicProxy, Failure> {
    let manager: TopicManagerProxy = communicator.proxy(manager)?;
    Ok(manager.create_or_retrieve(TOPIC).wait()?)
}

fn publish(
    case: Case,
    effort: Effort,
    address: &str,
    index: usize,
    facet: &str,
) -> Result<(), Failure> {
    let communicator = Communicator::new();
    let publisher = topic(&communicator, address)?.get_publisher().wait()?;
    let twoway = TickerProxy::from_proxy(publisher.ice_facet(facet));
    let batch = twoway.ice_batch_oneway();
    publish_all(case, effort, index, |numbers| {
        if case.is_acknowledged() {
            for number in numbers {
                twoway.tick(*number).wait()?;
            }
            return Ok(());
        }
        for number in numbers {
            batch.tick(*number).wait()?;
        }
        Ok(batch.ice_flush_batch().wait()?)
    })
}

fn subscribe(
    case: Case,
    effort: Effort,
    address: &str,
    index: usize,
    qos: &[(&str, &str)],
) -> Result<(), Failure> {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0")?;
    let servant = Subscriber(Mutex::new(Tally::new(case, effort)));
    let name = subscriber_name(index);
    let own = adapter.add(name.as_str(), TickerDispatcher::blocking(servant))?;
    adapter.activate();
    let own = if case.is_acknowledged() {
        own.ice_twoway()
    } else {
        own.ice_batch_oneway()
    };
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let qos: QoS = qos.iter().map(owned).collect();
    topic(&communicator, address)?
        .subscribe_and_get_publisher(&qos, Some(&own))
        .wait()?;
    end_with_stdin();
    communicator.wait_for_shutdown();
    Ok(())
}

/// Guards what the connection of the hub counts: there is one, so that nobody waits.
struct Subscriber(Mutex<Tally>);

impl TickerBlocking for Subscriber {
    fn tick(&self, number: i64, _current: &Current) -> Result<(), InvokeError> {
        let mut tally = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Err(error) = tally.take(number) {
            // The hub could only lose the subscriber; the lab must know.
            eprintln!("{error}");
            std::process::exit(1);
        }
        Ok(())
    }
}
