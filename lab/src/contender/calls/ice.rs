//! ZeroC Ice in C++: a client and a server as an Ice program of a user would be.

use super::case::Case;
use super::{CALLS_HPP, refusal};
use crate::contender::{CODEC_ICE, Contender, Origin, Program, gxx, peer};

pub(crate) const ICE: Contender = Contender {
    name: "ice",
    refusal: |case| {
        refusal(case, |case| match case {
            Case { is_unix: true, .. } => Some("Ice has no endpoint for Unix sockets"),
            Case {
                is_polling: true, ..
            } => Some("Ice cannot poll"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::ICE,
        folder: "ice",
        sources: &[
            CALLS_HPP,
            CODEC_ICE,
            ("Calls.ice", include_str!("../../../contracts/Calls.ice")),
            (
                "calls.cpp",
                include_str!("../../../contenders/ice/calls.cpp"),
            ),
        ],
        data: None,
        build: &[
            &["slice2cpp", "Codec.ice", "Calls.ice"],
            gxx![
                "-DICE_CPP11_MAPPING",
                "calls.cpp",
                "Calls.cpp",
                "Codec.cpp",
                "-lIce++11",
            ],
        ],
    }),
};
