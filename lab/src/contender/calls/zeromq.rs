//! ZeroMQ in C++: messages of bytes, encoded by hand.

use super::case::{Case, Work};
use super::{CALLS_HPP, refusal};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const ZEROMQ: Contender = Contender {
    name: "zeromq",
    refusal: |case| {
        refusal(case, |case| match case {
            Case {
                is_polling: true, ..
            } => Some("the thread of ZeroMQ that reads sleeps, whatever the others do"),
            Case {
                work: Work::Batch, ..
            } => Some("ZeroMQ makes batches by itself: see oneway"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::ZEROMQ,
        folder: "zeromq",
        sources: &[
            CALLS_HPP,
            (
                "calls.cpp",
                include_str!("../../../contenders/zeromq/calls.cpp"),
            ),
        ],
        data: None,
        build: &[gxx!["calls.cpp", "-lzmq"]],
    }),
};
