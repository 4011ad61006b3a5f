//! Contenders of the scenario `rpc`: a server and a client each.

mod floe;
mod floor;
mod ice;

pub(crate) use floe::{FLOE, FLOE_THREADS};
pub(crate) use floor::FLOOR;
pub(crate) use ice::ICE;
