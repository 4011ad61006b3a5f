//! The gateway at work: servants, and how requests are forwarded.
//!
//! - `gateway.rs`: a gateway, as programs start and stop it
//! - `sessions.rs`: all sessions, and how they end; `session_index.rs`: how they are found; `session.rs`: one of them
//! - `login.rs`: how a client gets a session; `keyed_lock.rs`: one login after another on each connection, and the order of
//!   requests that wait for a client
//! - `guard.rs`: asks the rules of access; `protection.rs`: slows logins, and limits rates
//! - `shares.rs`: how many sessions an address or a user has; `account.rs`: what they hold of memory and of connections to servers
//! - `resumption.rs`: sessions that survive a lost connection; `resumption_object.rs`: how clients ask for that
//! - `overload.rs`: what callers are told if the gateway is overloaded, or goes away
//! - `application.rs`: calls to the application's verifiers and session managers
//! - `router.rs`: the router object, and its finder; `session_control.rs`: how an application changes filters
//! - `routing.rs`: requests on their way to a server or to a client
//! - `forwarder.rs`: keeps the requests to one receiver in order; `outgoing.rs`: forwards one request; `server_link.rs`: how many of
//!   them wait for a server
//! - `failure.rs`: the exception for a caller whose request could not be forwarded
//! - `connection_context.rs`: information about a client's connection, for servers and applications
//! - `admin.rs`: the administrative object
//! - `tasks.rs`: tasks; `status.rs`: counters; `traffic.rs`: those of a session
//! - `measured.rs`: sessions, as metrics views measure them

mod account;
mod admin;
mod application;
mod connection_context;
mod failure;
mod forwarder;
mod gateway;
mod guard;
mod keyed_lock;
mod login;
mod measured;
mod outgoing;
mod overload;
mod protection;
mod resumption;
mod resumption_object;
mod router;
mod routing;
mod server_link;
mod session;
mod session_control;
mod session_index;
mod sessions;
mod shares;
mod status;
mod tasks;
mod traffic;

pub(crate) use outgoing::{Answer, begin, with_context};
pub(crate) use resumption::{FLOOR, NUMBER, is_lost, numbers};
pub(crate) use resumption_object::{FACET as SESSION_FACET, NOT_RESUMED};

pub use gateway::{Gateway, GatewayView};
pub use measured::METRICS_MAPS;
pub use overload::{GOING_AWAY, OVERLOADED};
pub use status::GatewayStatus;
