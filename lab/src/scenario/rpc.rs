//! How long does a call take?

use super::{CaseInfo, Processes, ScenarioInfo};
use crate::contender::calls::{FLOE, FLOE_THREADS, FLOOR, ICE};

pub(super) const RPC: ScenarioInfo = ScenarioInfo {
    name: "rpc",
    summary: "how long calls take between two processes of one computer",
    contenders: &[&FLOOR, &FLOE, &FLOE_THREADS, &ICE],
    processes: Processes::ServerAndClient,
    cases: &[CaseInfo {
        name: "twoway",
        summary: "an operation without parameters and results, over loopback TCP",
    }],
    ratios: &[("floe", "floor"), ("ice", "floe"), ("floe-threads", "floe")],
};
