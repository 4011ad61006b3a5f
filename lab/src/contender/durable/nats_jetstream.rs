//! NATS with JetStream: a stream in files, synced before each answer, with its C client.

use std::process::Command;

use super::{DURABLE_HPP, DurableContender, Publisher};
use crate::contender::events::daemon::scratch;
use crate::contender::events::{NATS_SERVER, Service};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const NATS_JETSTREAM: Contender = Contender {
    name: "nats-jetstream",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|_| serve()),
        publisher: Publisher::Built(&Program {
            peer: &peer::NATS,
            folder: "nats-jetstream-durable",
            sources: &[
                DURABLE_HPP,
                (
                    "durable.cpp",
                    include_str!("../../../contenders/nats-jetstream/durable.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["durable.cpp", "-lnats"]],
        }),
    }),
};

fn serve() -> Result<(), Failure> {
    let output = Command::new("nats-server").arg("--version").output()?;
    let version = String::from_utf8_lossy(&output.stdout);
    if !can_sync(&version) {
        let version = version.trim();
        return Err(format!(
            "expected a server from 2.10 on, which can sync each event, got \"{version}\""
        )
        .into());
    }
    let folder = scratch("jetstream");
    NATS_SERVER(&format!(
        "jetstream {{ store_dir: \"{}\", max_file_store: 8GB, sync_interval: always }}\n",
        folder.display()
    ))
}

/// Whether a server knows the setting `sync_interval`, by what it says of its version. Older ones sync every two minutes, whatever
/// they are told.
fn can_sync(version: &str) -> bool {
    let numbers = version.trim().rsplit('v').next().unwrap_or_default();
    let mut numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(2), Some(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_syncs_every_two_minutes_is_not_measured() {
        assert!(!can_sync("nats-server: v2.9.10\n"));
        assert!(can_sync("nats-server: v2.10.0\n"));
        assert!(can_sync("nats-server: v3.0.1"));
        assert!(!can_sync(""));
    }
}
