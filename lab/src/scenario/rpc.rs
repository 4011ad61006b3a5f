//! How long does a call take?

use super::{CaseInfo, ScenarioInfo};

pub(super) const RPC: ScenarioInfo = ScenarioInfo {
    name: "rpc",
    summary: "how long calls take between two processes of one computer",
    contenders: &["floor", "floe", "floe-threads", "ice"],
    cases: &[CaseInfo {
        name: "twoway",
        summary: "an operation without parameters and results, over loopback TCP",
    }],
    ratios: &[("floe", "floor"), ("ice", "floe"), ("floe-threads", "floe")],
};
