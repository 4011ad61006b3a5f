//! Cyclone DDS in C++: a topic of requests and a topic of replies.

use super::case::{Case, Work};
use super::{CALLS_HPP, refusal};
use crate::contender::{CODEC_IDL, CYCLONEDDS_DOMAIN_HPP, Contender, Origin, Program, gxx, peer};

pub(crate) const CYCLONEDDS: Contender = Contender {
    name: "cyclonedds",
    refusal: |case| {
        refusal(case, |case| match case {
            Case { is_unix: true, .. } => Some("DDS goes over UDP, and has no Unix sockets"),
            Case {
                is_polling: true, ..
            } => Some("the receiving thread of Cyclone DDS sleeps, whatever the others do"),
            Case {
                work: Work::Ami, ..
            } => Some("DDS has no calls, and so none that are asynchronous: see twoway"),
            Case {
                work: Work::Batch, ..
            } => Some("Cyclone DDS has no batches that a program flushes"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::CYCLONEDDS,
        folder: "cyclonedds",
        sources: &[
            CALLS_HPP,
            CODEC_IDL,
            CYCLONEDDS_DOMAIN_HPP,
            (
                "calls.idl",
                include_str!("../../../contenders/cyclonedds/calls.idl"),
            ),
            (
                "calls.cpp",
                include_str!("../../../contenders/cyclonedds/calls.cpp"),
            ),
        ],
        data: None,
        build: &[
            &["idlc", "codec.idl"],
            &["idlc", "calls.idl"],
            &["gcc", "-O2", "-I.", "-c", "codec.c", "calls.c"],
            gxx!["calls.cpp", "calls.o", "codec.o", "-lddsc"],
        ],
    }),
};
