//! ZeroC Ice in C++: a client and a server as an Ice program of a user would be.

use super::case::PLAIN;
use crate::contender::{Contender, CppProgram, ICE_INSTALL, ICE_VERSION, Origin};

pub(crate) const ICE: Contender = Contender {
    name: "ice",
    cases: PLAIN,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "ice",
        sources: &[
            ("Calls.ice", include_str!("../../../contracts/Calls.ice")),
            (
                "contender.cpp",
                include_str!("../../../contenders/ice/contender.cpp"),
            ),
        ],
        data: None,
        translate: &[&["slice2cpp", "Calls.ice"]],
        compile: &[
            "-DICE_CPP11_MAPPING",
            "contender.cpp",
            "Calls.cpp",
            "-lIce++11",
        ],
        version: ICE_VERSION,
        install: ICE_INSTALL,
    }),
};
