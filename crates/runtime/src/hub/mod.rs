//! Events: topics of a hub, publishers and subscriptions.
//!
//! A [`HubClient`] speaks to any Floe hub and to any IceStorm 3.7 or 3.8. It returns [`Topic`]s by name. A
//! publisher is a typed proxy: to call an operation is to publish an event. A [`Subscription`] is a stream of
//! the contract's events. `floe-codegen` generates their enum from an interface whose operations return nothing:
//!
//! ```no_run
//! # mod demo {
//! #     #[derive(Debug)]
//! #     pub enum TickerEvent { Halted }
//! #     impl floe::hub::TypedEvent for TickerEvent {
//! #         const TYPE_ID: &'static str = "::Demo::Ticker";
//! #         const TYPE_IDS: &'static [&'static str] = &["::Demo::Ticker", "::Ice::Object"];
//! #         fn decode(_: &floe::dispatch::Request) -> Option<Result<Self, floe::SystemException>> { None }
//! #     }
//! # }
//! use demo::TickerEvent;
//! use floe::hub::HubClient;
//!
//! # async fn run() -> Result<(), floe::hub::HubError> {
//! let hub = HubClient::connect("localhost:10000").await?;
//! let topic = hub.topic("ticker").await?;
//! let mut events = topic.subscribe::<TickerEvent>().await?;
//! while let Some(event) = events.next().await {
//!     match event {
//!         Ok(event) => println!("{event:?}"),
//!         Err(interruption) => eprintln!("{interruption}"),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What a subscription promises
//! - The hub reaches the subscriber without any configuration. A Floe hub calls back over the subscriber's own
//!   connection. For any other hub the subscriber listens on the local address of that connection. Subscribing fails
//!   with [`HubError::NotReached`] if the hub cannot reach that address.
//! - A slow consumer slows the hub down: the buffer is bounded, and if it is full, the request of the hub is answered
//!   only when there is room. The quality of service ([`Qos`]) says what the hub does when its own queue is full.
//! - It lasts. If the hub restarts, forgets the subscriber or becomes unreachable, the client subscribes again, and an
//!   [`Interruption`] marks the place in the stream where events may be missing.
//! - It ends when it is dropped. [`Subscription::unsubscribe`] waits until the hub has ended it.
//!
//! # Files
//! - `address.rs`: the address of a hub; `client.rs`, `topic.rs`, `durable_topic.rs`: the hub and its topics for clients
//! - `near.rs`: the name that was probably meant
//! - `qos.rs`: quality of service; `subscribe.rs`: builders of subscriptions
//! - `subscription.rs`: handles of subscriptions; `interruption.rs`: what they report besides events
//! - `inbox/`: everything between the requests of a hub and the consumer of a stream; `stamped.rs`: events with their places in a log
//! - `servants.rs`: the dispatchers of a subscription; `arrivals.rs`: counts what arrives at them
//! - `session.rs`: keeps a subscription alive; `receiver.rs`: the object that the hub delivers to

mod address;
mod arrivals;
mod client;
mod durable_topic;
mod error;
mod inbox;
mod interruption;
mod near;
mod qos;
mod receiver;
mod servants;
mod session;
mod stamped;
mod subscribe;
mod subscription;
mod topic;

pub use address::HubAddress;
pub use client::HubClient;
pub use error::HubError;
pub use interruption::Interruption;
pub use qos::{Delivery, Overflow, Qos, Retries};
pub use stamped::Stamped;
pub use subscribe::{Subscribe, SubscribeServant};
pub use subscription::{BlockingEvents, ServantSubscription, Subscription};
pub use topic::Topic;

#[doc(hidden)]
pub use near::nearest_name;

pub use crate::codegen::TypedEvent;

/// The facet of a topic through which a caller subscribes its own object to a Floe hub. The hub calls the object back
/// over the connection of the request. The subscription ends with that connection.
pub const CALLBACK_FACET: &str = "floe.callback";
