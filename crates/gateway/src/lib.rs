//! The gateway: sessions and routing through one port of a firewall, Glacier2-compatible.
//!
//! A client opens one connection to the gateway, creates a session on it, and invokes objects behind the
//! firewall through it. When these objects call the client back, the calls come over the same connection. The
//! gateway forwards requests without opening them. Programs written for ZeroC Glacier2 3.7 and 3.8 use it
//! unchanged.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use floe_gateway::{Gateway, GatewaySettings, PasswordVerifier};
//!
//! let communicator = floe::Communicator::new();
//! let mut settings = GatewaySettings::new("tcp -h 127.0.0.1 -p 0");
//! settings.password_verifier = Some(PasswordVerifier::AcceptAll);
//! let gateway = Gateway::start(&communicator, settings).await?;
//! println!("ready {}", gateway.router());
//! // Clients come and go.
//! gateway.shutdown().await;
//! communicator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! - `core/`: the decisions of the gateway, pure
//! - `service/`: servants, and how requests are forwarded
//! - `client/`: for clients of gateways: sessions that survive a lost connection
//! - `settings.rs`: the settings; `error.rs`: why a gateway does not start

mod client;
mod core;
mod error;
mod service;
mod settings;

pub use client::{ResumableSession, SessionError};
pub use core::{AddressRule, AddressRuleError, UserCategory};
pub use error::GatewayError;
pub use service::{GOING_AWAY, Gateway, GatewayStatus, GatewayView, METRICS_MAPS, OVERLOADED};
pub use settings::{
    AdminSettings, Batching, CertificateVerifier, ConnectionContext, FilterSettings,
    ForwardingSettings, GatewaySettings, PasswordVerifier,
};
