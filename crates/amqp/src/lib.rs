//! AMQP 1.0: bytes to events and back.
//!
//! Pure: bytes and a time go in; bytes, events and a deadline come out. No socket, no clock, no async, no randomness. The
//! program that uses it moves the bytes and decides who may attach to what.
//!
//! - [`codec`]: the type system
//! - [`frame`], [`performative`], [`terminus`], [`condition`], [`sasl`]: what peers say to each other
//! - [`connection`]: the serving end of a connection as a state machine, within [`limits`]
//! - [`message`]: messages, whose sections are found and not copied
//! - [`jms`]: messages as JMS programs mean them
//!
//! Not here: the end that connects, transactions, and resuming deliveries after a lost connection. A peer that asks for one
//! of the latter two gets `amqp:not-implemented`.
//!
//! ```
//! use std::time::Instant;
//! use floe_amqp::connection::{AttachAcceptance, Connection, Event, OpenAcceptance, Settings};
//! use floe_amqp::limits::Limits;
//! use floe_amqp::performative::Outcome;
//! use floe_amqp::sasl::Mechanism;
//!
//! /// Serves a program that publishes: call it when bytes have come, and send what it returns.
//! fn serve(connection: &mut Connection, now: Instant, bytes: &[u8]) -> Vec<u8> {
//!     connection.handle_bytes(now, bytes);
//!     while let Some(event) = connection.poll_event() {
//!         match event {
//!             Event::Authenticate(_) => connection.authenticate(true),
//!             Event::Open(_) => connection.accept_open(OpenAcceptance::default()),
//!             Event::Attach(request) => {
//!                 let acceptance = AttachAcceptance {
//!                     source: request.source,
//!                     target: request.target,
//!                     credit: 100,
//!                     ..AttachAcceptance::default()
//!                 };
//!                 let _ = connection.accept_attach(request.link, acceptance);
//!             }
//!             Event::Delivery(delivery) => {
//!                 println!("{} bytes", delivery.message.len());
//!                 let _ = connection.settle(delivery.link, delivery.delivery, Outcome::Accepted);
//!                 let _ = connection.set_credit(delivery.link, 100);
//!             }
//!             Event::Detached { link, closed, .. } => {
//!                 let _ = connection.detach(link, closed, None);
//!             }
//!             _ => {}
//!         }
//!     }
//!     connection.poll_transmit(now).map_or_else(Vec::new, Vec::from)
//! }
//!
//! let now = Instant::now();
//! let settings = Settings {
//!     container_id: "example".to_owned(),
//!     mechanisms: vec![Mechanism::Anonymous],
//!     without_sasl: false,
//!     limits: Limits::default(),
//! };
//! let mut connection = Connection::new(settings, now);
//! let answer = serve(&mut connection, now, b"AMQP\x03\x01\x00\x00");
//! assert!(answer.starts_with(b"AMQP\x03\x01\x00\x00"));
//! ```

pub mod codec;
pub mod condition;
pub mod connection;
pub mod frame;
pub mod jms;
pub mod limits;
pub mod message;
pub mod performative;
pub mod sasl;
pub mod terminus;
