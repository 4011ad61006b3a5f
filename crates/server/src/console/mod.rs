//! The console: one page about a server, and the JSON that the page is made of, which is a public contract
//! (`docs/guides/console.md`).
//!
//! - `service.rs`: connections, and which path is what; `request.rs`: a request; `response.rs`: an answer
//! - `gate.rs`: who may ask, and what; `stalled_writes.rs`: the end of connections that do not read
//! - `sample.rs`: a look at the server; `watcher.rs`: the last look, shared by all who watch
//! - `snapshot.rs`: a look as JSON; `selection.rs`: the topics that are shown; `rows.rs`: its rows
//! - `events.rs`: the stream of looks
//! - `changes.rs`: what may be changed; `letters.rs`: a list of dead letters
//! - `page/`: the page itself, which needs no build step

mod changes;
mod events;
mod gate;
mod letters;
mod request;
mod response;
mod rows;
mod sample;
mod selection;
mod service;
mod snapshot;
mod stalled_writes;
mod watcher;

pub(crate) use gate::Gate;
pub(crate) use sample::Watched;
pub(crate) use service::Console;
