//! What a user can do with the lab.

mod codec;
mod events;
mod page;
mod rpc;
mod slow;
mod topics;
