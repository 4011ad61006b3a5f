//! The decisions for durable topics and subscriptions.
//!
//! - `position.rs`: which events a durable subscription has acknowledged, and which it gets next
//! - `saved_position.rs`: what is stored of a position
//! - `by_sequence.rs`: the map of the events that a position remembers
//! - `in_flight.rs`: the events in flight to a subscriber, and how their deliveries ended
//! - `absence.rs`: how long to wait between attempts to reach an absent subscriber
//! - `redelivery.rs`: when an event that was not acknowledged is delivered again, and how often
//! - `reading.rs`: what a subscriber asks for that reads the log of its topic
//! - `start.rs`: where a new durable subscription begins
//! - `publication.rs`: what a publisher says in the context of its events
//! - `deduplication.rs`: which events of a publisher have come before; `publisher_names.rs`: how many publishers are remembered
//! - `members.rs`: which members of a subscription can be reached, since when nobody is there, and which are forgotten
//! - `missing.rs`: events that the log does not have any more
//! - `overtaking.rs`: warns before the retention overtakes a subscription
//! - `sticky.rs`: which member of a shared subscription gets the events of a key
//! - `throttle.rs`: how fast readers that are far behind may read while the hub has live traffic
//! - `stamped.rs`: tells a subscriber the sequence and time of an event

mod absence;
mod by_sequence;
mod deduplication;
mod in_flight;
mod members;
mod missing;
mod overtaking;
mod position;
mod publication;
mod publisher_names;
mod reading;
mod redelivery;
mod saved_position;
mod stamped;
mod start;
mod sticky;
mod throttle;

pub(crate) use absence::Absence;
pub(crate) use deduplication::{Deduplication, Novelty};
pub(crate) use in_flight::{Attempt, AttemptFailure, DurableInFlight, Ended, LogEvent};
pub(crate) use members::{Members, MembersReport};
pub(crate) use missing::MissingEvents;
pub(crate) use overtaking::{Overtaking, OvertakingNotice};
pub(crate) use position::{NextEvent, NotAcknowledged, SubscriptionPosition};
pub(crate) use publication::{LEVEL_KEY, LogPublication, NUMBER_KEY, PUBLISHER_KEY, publications};
pub(crate) use publisher_names::PublisherNames;
pub(crate) use reading::Reading;
pub(crate) use redelivery::Redelivery;
pub(crate) use saved_position::{PENDING_LIMIT, SavedPosition};
pub(crate) use stamped::stamped;
pub(crate) use start::parse_start;
pub(crate) use sticky::{Member, Sticky};
pub(crate) use throttle::{Chase, Throttle, Turn};
