//! Cap'n Proto in C++: its RPC between two vats.

use super::case::{Case, Work};
use super::{CALLS_HPP, refusal};
use crate::contender::{CODEC_CAPNP, Contender, Origin, Program, gxx, peer};

pub(crate) const CAPNP: Contender = Contender {
    name: "capnp",
    refusal: |case| {
        refusal(case, |case| match case {
            Case {
                is_polling: true, ..
            } => Some("the event loop of Cap'n Proto sleeps, and has no setting to poll"),
            Case {
                work: Work::Batch, ..
            } => Some("Cap'n Proto has no batches"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::CAPNP,
        folder: "capnp",
        sources: &[
            CALLS_HPP,
            CODEC_CAPNP,
            (
                "calls.capnp",
                include_str!("../../../contenders/capnp/calls.capnp"),
            ),
            (
                "calls.cpp",
                include_str!("../../../contenders/capnp/calls.cpp"),
            ),
        ],
        data: None,
        build: &[
            &["capnp", "compile", "-oc++", "codec.capnp", "calls.capnp"],
            gxx![
                "calls.cpp",
                "calls.capnp.c++",
                "codec.capnp.c++",
                "-lcapnp-rpc",
                "-lcapnp",
                "-lkj-async",
                "-lkj",
            ],
        ],
    }),
};
