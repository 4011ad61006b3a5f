//! What a user can do with the lab.

mod codec;
mod durable;
mod events;
mod page;
mod rpc;
mod topics;
