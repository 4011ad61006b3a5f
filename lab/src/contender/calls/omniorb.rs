//! omniORB in C++: CORBA calls.

use super::case::{Case, Work};
use super::{CALLS_HPP, refusal};
use crate::contender::{CODEC_IDL, Contender, Origin, Program, gxx, peer};

pub(crate) const OMNIORB: Contender = Contender {
    name: "omniorb",
    refusal: |case| {
        refusal(case, |case| match case {
            Case {
                is_polling: true, ..
            } => Some(
                "omniORB cannot poll: who spins over one of its pollers watches a thread that sleeps",
            ),
            Case {
                work: Work::Batch, ..
            } => Some("CORBA has no batches"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::OMNIORB,
        folder: "omniorb",
        sources: &[
            CALLS_HPP,
            CODEC_IDL,
            (
                "calls.idl",
                include_str!("../../../contenders/omniorb/calls.idl"),
            ),
            (
                "calls.cpp",
                include_str!("../../../contenders/omniorb/calls.cpp"),
            ),
        ],
        data: None,
        build: &[
            &["omniidl", "-bcxx", "codec.idl"],
            // With the asynchronous operations.
            &["omniidl", "-bcxx", "-Wbami", "calls.idl"],
            gxx![
                "calls.cpp",
                "callsSK.cc",
                "codecSK.cc",
                "-lomniORB4",
                "-lomniDynamic4",
                "-lomnithread",
            ],
        ],
    }),
};
