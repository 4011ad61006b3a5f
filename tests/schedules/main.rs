//! The places in which threads meet, in one order of events after another.
//!
//! The files of the runtime that hold no socket and no task are compiled here once more, with
//! primitives that decide themselves which thread goes on (`crate::sync`). A failing order is printed
//! as a text that `shuttle::replay` runs again. An order in which all threads wait is a failure, too.
//!
//! - `leader.rs`: callers of one connection, of which one reads for all
//! - `writers.rs`: senders that share one send queue, which `floe-wire` has

/// Where the runtime has it.
mod wait {
    pub(crate) use crate::sleeper::Sleeper;
}
/// The runtime's own.
#[allow(
    dead_code,
    reason = "the runtime's own file, of which schedules try the part where threads meet"
)]
#[path = "../../crates/runtime/src/connection/followers.rs"]
mod followers;
mod leader;
/// The runtime's own.
#[path = "../../crates/runtime/src/connection/wait/sleeper.rs"]
mod sleeper;
mod sync;
mod writers;

/// Tries a test in as many orders of events as fit into a second or two: in any, and in such as
/// switch threads seldom but at the worst places.
fn try_orders(test: impl Fn() + Clone + Send + Sync + 'static) {
    let count = std::env::var("FLOE_SCHEDULES").map_or(ORDER_COUNT, |count| {
        count.parse().expect("FLOE_SCHEDULES is a number")
    });
    shuttle::check_random(test.clone(), count);
    shuttle::check_pct(test, count, 3);
}

/// Orders that each run of the gate tries of each kind.
const ORDER_COUNT: usize = 1_000;
