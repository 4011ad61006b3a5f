//! Floe: a generated proxy calls a generated servant, as a program of a user would.
//!
//! - `asynchronous.rs`, `blocking.rs`: the two faces
//! - `servant.rs`: what is called, through either

mod asynchronous;
mod blocking;
mod servant;

use floe::Settings;

use super::case::{Case, POLLING, Work};
use super::{refusal, socket_path};
use crate::contender::{Contender, Origin};
use asynchronous::Program;
pub(crate) use asynchronous::{measure, start_server};

pub(crate) mod contract {
    floe::include_contract!("Calls");
}

/// Floe in both processes, written as the examples are. Where calls with values are made one after the other that is the
/// blocking face without any runtime, as for `twoway-blocking`.
pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Pair {
        serve: |case| match Case::parse(case)? {
            case if is_blocking(case) => blocking::serve(case),
            case => Program::Plain.serve(case),
        },
        call: |case, address, effort| match Case::parse(case)? {
            case if is_blocking(case) => blocking::call(case, address, effort),
            case => Program::Plain.call(case, address, effort),
        },
    },
};

/// [`FLOE`] with what saves it a little more: see [`Program::Tuned`].
pub(crate) const FLOE_TUNED: Contender = Contender {
    name: "floe-tuned",
    refusal: |case| {
        refusal(case, |case| match case {
            _ if is_blocking(case) => Some("the blocking face has no runtime"),
            Case { is_unix: true, .. }
            | Case {
                is_polling: true, ..
            } => Some("what one thread saves is asked over TCP, without polling"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Pair {
        serve: |case| Program::Tuned.serve(Case::parse(case)?),
        call: |case, address, effort| Program::Tuned.call(Case::parse(case)?, address, effort),
    },
};

fn is_blocking(case: Case) -> bool {
    match case.work {
        Work::Twoway | Work::Ami | Work::AmiMany | Work::Oneway | Work::Batch => false,
        Work::TwowayBlocking | Work::Echo(_) | Work::AckBytes(_) | Work::AckNested(_) => true,
    }
}

fn settings(case: Case) -> Settings {
    let mut settings = Settings::default();
    settings.message_size_max = MESSAGE_SIZE_MAX;
    if case.is_polling {
        settings.polling = POLLING;
    }
    settings
}

fn endpoint(case: Case) -> String {
    if case.is_unix {
        format!("unix -f {}", socket_path())
    } else {
        "tcp -h 127.0.0.1 -p 0".to_owned()
    }
}

/// The object that is called; its length is part of every request's.
pub(super) const IDENTITY: &str = "calls";

/// A million doubles take 8 MB; the default is 1.
const MESSAGE_SIZE_MAX: usize = 16 << 20;
