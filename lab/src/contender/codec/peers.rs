//! The peers: programs of ours in C++, each with the library that it is named after.

use super::value::cpp_header;
use super::{ALL_CASES, ICE_ENCODING};
use crate::contender::{Contender, CppProgram, ICE_INSTALL, ICE_VERSION, Origin};

/// ZeroC Ice: `OutputStream` and `InputStream`, with what `slice2cpp` makes of our own contract.
pub(crate) const ICE: Contender = Contender {
    name: "ice",
    cases: ALL_CASES,
    encoding: ICE_ENCODING,
    origin: Origin::Built(&CppProgram {
        folder: "codec-ice",
        sources: &[
            CODEC_HPP,
            ("Codec.ice", include_str!("../../../contracts/Codec.ice")),
            (
                "codec.cpp",
                include_str!("../../../contenders/ice/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        commands: &[
            &["slice2cpp", "Codec.ice"],
            &[
                "g++",
                "-std=c++17",
                "-O2",
                "-DICE_CPP11_MAPPING",
                "-pthread",
                "-I.",
                "codec.cpp",
                "Codec.cpp",
                "-lIce++11",
                "-o",
                "contender",
            ],
        ],
        version: ICE_VERSION,
        install: ICE_INSTALL,
    }),
};

/// What the programs have in common.
const CODEC_HPP: (&str, &str) = ("codec.hpp", include_str!("../../../contenders/codec.hpp"));
