//! How long does a call take?

use super::{CaseInfo, Processes, ScenarioInfo};
use crate::contender::calls::{FLOE, FLOE_THREADS, FLOOR, ICE};

pub(super) const RPC: ScenarioInfo = ScenarioInfo {
    name: "rpc",
    summary: "how long calls take between two processes of one computer",
    contenders: &[&FLOOR, &FLOE, &FLOE_THREADS, &ICE],
    processes: Processes::ServerAndClient,
    cases: &[
        CaseInfo {
            name: "twoway",
            summary: "an operation without parameters and results, over loopback TCP",
        },
        CaseInfo {
            name: "twoway-unix",
            summary: "an operation without parameters and results, over a Unix socket",
        },
        CaseInfo {
            name: "twoway-poll",
            summary: "an operation without parameters and results, over loopback TCP, both sides polling",
        },
        CaseInfo {
            name: "twoway-unix-poll",
            summary: "an operation without parameters and results, over a Unix socket, both sides polling",
        },
        CaseInfo {
            name: "twoway-blocking",
            summary: "the same from a thread that blocks, over loopback TCP",
        },
        CaseInfo {
            name: "twoway-blocking-unix",
            summary: "the same from a thread that blocks, over a Unix socket",
        },
        CaseInfo {
            name: "twoway-blocking-poll",
            summary: "the same from a thread that blocks, over loopback TCP, both sides polling",
        },
        CaseInfo {
            name: "twoway-blocking-unix-poll",
            summary: "the same from a thread that blocks, over a Unix socket, both sides polling",
        },
        CaseInfo {
            name: "ami",
            summary: "the same through the asynchronous face, over loopback TCP",
        },
        CaseInfo {
            name: "ami-unix",
            summary: "the same through the asynchronous face, over a Unix socket",
        },
        CaseInfo {
            name: "ami-poll",
            summary: "the same through the asynchronous face, over loopback TCP, both sides polling",
        },
        CaseInfo {
            name: "ami-unix-poll",
            summary: "the same through the asynchronous face, over a Unix socket, both sides polling",
        },
        CaseInfo {
            name: "ami-1000",
            summary: "1,000 such calls in flight at the same time, over loopback TCP",
        },
        CaseInfo {
            name: "ami-1000-unix",
            summary: "1,000 such calls in flight at the same time, over a Unix socket",
        },
        CaseInfo {
            name: "ami-1000-poll",
            summary: "1,000 such calls in flight at the same time, over loopback TCP, both sides polling",
        },
        CaseInfo {
            name: "ami-1000-unix-poll",
            summary: "1,000 such calls in flight at the same time, over a Unix socket, both sides polling",
        },
        CaseInfo {
            name: "oneway",
            summary: "10,000 without a reply, until the server has received all, over loopback TCP",
        },
        CaseInfo {
            name: "oneway-unix",
            summary: "10,000 without a reply, until the server has received all, over a Unix socket",
        },
        CaseInfo {
            name: "oneway-poll",
            summary: "10,000 without a reply, until the server has received all, over loopback TCP, both sides polling",
        },
        CaseInfo {
            name: "oneway-unix-poll",
            summary: "10,000 without a reply, until the server has received all, over a Unix socket, both sides polling",
        },
        CaseInfo {
            name: "batch",
            summary: "100 batches of 1,000 without a reply, until the server has received all, over loopback TCP",
        },
        CaseInfo {
            name: "batch-unix",
            summary: "100 batches of 1,000 without a reply, until the server has received all, over a Unix socket",
        },
        CaseInfo {
            name: "batch-poll",
            summary: "100 batches of 1,000 without a reply, until the server has received all, over loopback TCP, both sides polling",
        },
        CaseInfo {
            name: "batch-unix-poll",
            summary: "100 batches of 1,000 without a reply, until the server has received all, over a Unix socket, both sides polling",
        },
    ],
    ratios: &[("floe", "floor"), ("ice", "floe"), ("floe-threads", "floe")],
};
