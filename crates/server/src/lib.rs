//! Floe's server: a hub, a gateway, or both, as one file of settings describes them. It is all that `floe serve` is; a
//! program that embeds it needs five lines:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use floe_server::{Configuration, Server};
//!
//! let read = || Configuration::load("floe.toml");
//! let mut signals = floe::Signals::new()?;
//! let mut server = Server::start(read()?).await?;
//! server.serve_until(read, signals.next()).await;
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! - `server.rs`: [`Server`], which joins the parts; `parts/`: one file for each, with the function that starts it
//! - `settings/`: [`Configuration`], the file of settings; `certificates.rs`: the certificates that it names
//! - `reload.rs`: the file, read again
//! - `metrics.rs`: the metrics of hub and gateway; `http.rs`: how a scraper gets them
//! - `console/`: the page about a server, and its JSON
//! - `notice.rs`: what the operator is told; `notify.rs`: and the service manager
//! - `open_files.rs`: how many descriptors the process may have
//! - `dead_letters/`: dead letters of a topic, published again or deleted
//! - `findings.rs`: the problems of a hub
//! - `totals.rs`: sums of what a hub counts
//! - `values/`: endpoints, sizes and times as people write them
//! - `error.rs`: [`ServerError`]

mod certificates;
mod console;
pub mod dead_letters;
mod error;
pub mod findings;
mod http;
mod metrics;
mod notice;
mod notify;
mod open_files;
mod parts;
mod reload;
mod server;
pub mod settings;
pub mod totals;
pub mod values;

pub use certificates::Certificates;
pub use error::{FULL_BUILD, Fault, ServerError};
pub use notice::{Notices, set_notices, warn_of_readers};
pub use server::Server;
pub use settings::{Configuration, ConsoleSettings, MetricsSettings};
