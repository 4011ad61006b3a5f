//! The names that blocks of the documents use and do not import: those of a program that has imported what it needs.

pub(crate) use std::time::Duration;

pub(crate) use floe::classes::*;
pub(crate) use floe::hub::*;
pub(crate) use floe::settings::*;
pub(crate) use floe::*;
pub(crate) use floe_gateway::ResumableSession;
pub(crate) use futures_util::future::{join_all, try_join_all};
pub(crate) use futures_util::stream::{self, StreamExt, TryStreamExt};

pub(crate) use arm::robot::*;
pub(crate) use greeter::demo::*;
pub(crate) use orders::demo::*;
pub(crate) use pages::records::*;
pub(crate) use ticker::demo::*;

mod arm {
    floe::include_contract!("Arm");
}

mod greeter {
    floe::include_contract!("Greeter");
}

mod orders {
    floe::include_contract!("Orders");
}

mod pages {
    floe::include_contract!("Pages");
}

mod ticker {
    floe::include_contract!("Ticker");
}
