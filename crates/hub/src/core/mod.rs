//! The decisions of the hub. All of them are pure: the time is an argument.
//!
//! - `subscription.rs`: a subscriber: the events that wait for it, its state, and an account of every event
//! - `backlog.rs`: the events that wait for a subscriber, in its queue or for room there
//! - `availability.rs`: decides by a subscriber's failures if it gets events
//! - `queue.rs`: queued events, limited in number and bytes
//! - `queue_memory.rs`: the memory that all queues hold, and how they share it
//! - `lifespan.rs`: how long an event is worth delivering
//! - `limits.rs`: the limits of a queue, and the policy for events beyond them
//! - `hub_limits.rs`: the limits of the whole hub
//! - `held.rs`: publications that wait for room in a queue
//! - `patience.rs`: how long a subscriber may hold publishers back
//! - `overflow.rs`: when to log that a queue is full
//! - `outstanding.rs`: how many events are being sent, and their bytes
//! - `accounts.rs`: counts of delivered and lost events
//! - `loss_history.rs`: where and when events were lost
//! - `snapshot.rs`: the state and accounts of a subscriber at one moment
//! - `in_flight.rs`: the events in flight
//! - `window.rs`: how many of them there may be
//! - `schedule.rs`: when rounds of deliveries rest, and for how long
//! - `back_off.rs`: an exponential back-off
//! - `qos.rs`: the quality of service of a subscriber; `wishes.rs` reads its values
//! - `log/`: what the log of a durable topic keeps, where, and for how long
//! - `context.rs`: the entries in the context of an event
//! - `link.rs`: which events pass a link, and how they are forwarded
//! - `hops.rs`: how many hubs an event has passed
//! - `token.rs`: the token of a publisher, which its subscribers do not get
//! - `durable/`: positions of durable subscriptions, redelivery, start positions, duplicates
//! - `names.rs`: which object an identity names

mod accounts;
mod availability;
mod back_off;
mod backlog;
mod context;
pub(crate) mod durable;
mod held;
mod hops;
mod hub_limits;
mod in_flight;
mod lifespan;
mod limits;
mod link;
pub(crate) mod log;
mod loss_history;
mod names;
mod outstanding;
mod overflow;
mod patience;
mod qos;
mod queue;
mod queue_memory;
mod schedule;
mod snapshot;
mod subscription;
mod token;
mod window;
mod wishes;

pub(crate) use accounts::{Accounts, Losses};
pub(crate) use availability::DeliveryFailure;
pub(crate) use back_off::BackOff;
pub(crate) use context::{value_of, with_entries};
pub(crate) use held::Ticket;
pub(crate) use hops::{HOPS_MAX, counts_hops, next_hop, passing_count, with_next_hop};
pub use hub_limits::{HubLimits, LimitUse};
pub(crate) use hub_limits::{LimitReached, Usage};
pub(crate) use in_flight::{
    EventReply, InFlightEvents, Load, Resend, Sendable, WindowRoom, may_resend,
};
pub(crate) use lifespan::{ByLifespan, LIFESPAN_KEY, Timing, is_over, lifespan_of};
pub use limits::{OverflowPolicy, QueueLimits, WAITING_FACET};
pub(crate) use link::{Cost, decode_forward, encode_forward};
pub(crate) use loss_history::{CountSeries, LossHistory, LossPlace, PlaceLosses};
pub(crate) use names::{
    ObjectName, check_name, is_too_long, named_topic, publisher_name, receiver_name,
    subscriber_publisher_name, topic_name,
};
pub(crate) use overflow::{OverflowNotice, OverflowSummary};
pub(crate) use qos::{DeliveryMode, OUTSTANDING_LIMIT, Qos, QosError};
pub(crate) use queue_memory::{MemoryUse, QueueUse};
pub(crate) use schedule::Schedule;
pub(crate) use snapshot::{Snapshot, SubscriptionState};
pub(crate) use subscription::{DeliveryStep, Subscription};
pub(crate) use token::{TOKEN_KEY, without_tokens};
pub(crate) use window::{Window, WindowLimits};
pub use wishes::QOS_KEYS;

#[cfg(test)]
pub(crate) mod tests;
