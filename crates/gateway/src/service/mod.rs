//! The gateway at work: servants, and how requests are forwarded.
//!
//! - `gateway.rs`: a gateway as its user sees it
//! - `sessions.rs`: all sessions, by connection and by category; `session.rs`: one of them
//! - `login.rs`: how a client gets a session; `application.rs`: the objects of the application that decide it
//! - `router.rs`: the router object, and its finder; `session_control.rs`: how an application changes filters
//! - `routing.rs`: requests on their way to a server or to a client
//! - `lane.rs`: one way on which requests keep their order; `forwarding.rs`: how one of them leaves
//! - `failure.rs`: what a caller is told whose request could not be forwarded
//! - `connection_context.rs`: what servers and applications are told of a client's connection
//! - `status.rs`: what is counted

mod application;
mod connection_context;
mod failure;
mod forwarding;
mod gateway;
mod lane;
mod login;
mod router;
mod routing;
mod session;
mod session_control;
mod sessions;
mod status;

pub use gateway::Gateway;
pub use status::GatewayStatus;
