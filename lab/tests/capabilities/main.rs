//! The capabilities of the lab.

mod codec;
mod durable;
mod events;
mod fanout;
mod gateway;
mod judged;
mod page;
mod rpc;
mod slow;
mod topics;
