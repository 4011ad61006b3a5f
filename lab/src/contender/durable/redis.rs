//! Redis: a stream, written to its append-only file and synced before each answer, with hiredis.

use std::process::{Command, Stdio};

use super::case::refuse_replay;
use super::{DURABLE_HPP, DurableContender, Publisher};
use crate::contender::events::Service;
use crate::contender::events::daemon::{Daemon, free_port, scratch};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const REDIS: Contender = Contender {
    name: "redis",
    refusal: refuse_replay,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|_| serve()),
        publisher: Publisher::Built(&Program {
            peer: &peer::REDIS,
            folder: "redis-durable",
            sources: &[
                DURABLE_HPP,
                (
                    "durable.cpp",
                    include_str!("../../../contenders/redis/durable.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["durable.cpp", "-lhiredis"]],
        }),
    }),
};

fn serve() -> Result<(), Failure> {
    let port = free_port()?;
    let folder = scratch("redis");
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--daemonize", "no"])
        .args(["--appendonly", "yes", "--appendfsync", "always"])
        .arg("--dir")
        .arg(folder)
        .stdout(Stdio::null());
    let mut daemon = Daemon::start(&mut command)?;
    daemon.wait_for_port(port)?;
    daemon.serve(&port.to_string())
}
