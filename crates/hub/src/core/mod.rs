//! What the hub decides: pure, with times as arguments.
//!
//! - `subscription.rs`: one subscriber: its queue, its state, and an account of every event
//! - `queue.rs`: events that wait, bounded in number and bytes
//! - `limits.rs`: how much may wait, and what happens to the rest
//! - `overflow.rs`: when people are told that a queue is full
//! - `accounts.rs`: what became of events
//! - `snapshot.rs`: both at one moment
//! - `in_flight.rs`: the window of deliveries that are not answered
//! - `schedule.rs`: when rounds of deliveries rest, and for how long
//! - `back_off.rs`: how often something is tried that was in vain
//! - `qos.rs`: what a subscriber asks for
//! - `link.rs`: links between topics: what passes, and how it is written
//! - `metrics/`: what a view of metrics keeps
//! - `names.rs`: which object an identity names

mod accounts;
mod back_off;
mod in_flight;
mod limits;
mod link;
mod metrics;
mod names;
mod overflow;
mod qos;
mod queue;
mod schedule;
mod snapshot;
mod subscription;

pub(crate) use accounts::{Accounts, Losses};
pub(crate) use back_off::BackOff;
pub(crate) use in_flight::{InFlightEvents, Load, Resend, Room, may_resend};
pub use limits::{OverflowPolicy, QueueLimits, WAITING_FACET};
pub(crate) use link::{Cost, decode_forward, encode_forward};
pub use metrics::{GroupBy, GroupByError};
pub(crate) use metrics::{Map, Row, Thing};
pub(crate) use names::{
    ObjectName, is_too_long, named_topic, publisher_name, receiver_name, subscriber_publisher_name,
    topic_name,
};
pub(crate) use overflow::{OverflowNotice, OverflowSummary};
pub(crate) use qos::{Delivery, Qos, QosError};
pub(crate) use schedule::Schedule;
pub(crate) use snapshot::{Snapshot, SubscriptionState};
pub(crate) use subscription::{DeliveryFailure, DeliveryStep, Subscription};

#[cfg(test)]
mod tests;
