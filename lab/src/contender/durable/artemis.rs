//! ActiveMQ Artemis: the durable subscription of a topic, in its journal, which is synced before each answer; with its own client.

use std::process::{Command, Stdio};

use super::case::Case;
use super::page_cache::drop_from_memory;
use super::{DurableContender, Publisher};
use crate::contender::events::Service;
use crate::contender::events::daemon::{Daemon, scratch};
use crate::contender::{Contender, Failure, Origin, java};

pub(crate) const ARTEMIS: Contender = Contender {
    name: "artemis",
    refusal,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(serve),
        publisher: Publisher::Built(&java::ARTEMIS_DURABLE),
    }),
};

/// The most events of a replay.
const REPLAY_MAX: u64 = 100_000;

fn refusal(case: &str) -> Option<&'static str> {
    match Case::parse(case) {
        Ok(Case::Replay(count)) if count > REPLAY_MAX => Some(
            "it takes half a minute to store 500,000 events, half of the time that a service has to start: measure replay-100000",
        ),
        _ => None,
    }
}

fn serve(case: &str) -> Result<(), Failure> {
    let program = java::ARTEMIS_DURABLE.build()?.program;
    let mut command = Command::new(program);
    command.args(["service", case]).stdout(Stdio::piped());
    let mut daemon = Daemon::start(&mut command)?;
    let address = Daemon::hear(daemon.stdout()?, |line| {
        line.starts_with("tcp:").then(|| line.to_owned())
    })?;
    if let Case::Replay(_) = Case::parse(case)? {
        drop_from_memory(&scratch("artemis"))?;
    }
    daemon.serve(&address)
}
