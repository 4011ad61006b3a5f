//! The peers: programs of ours in C++, each with the library that it is named after.
//!
//! How each reuses its buffers, and what decoding is to it, stands at the head of its source.

use super::value::cpp_header;
use super::{ALL_CASES, ALL_CASES_BUT_THE_LONGEST, ICE_ENCODING};
use crate::contender::{Contender, CppProgram, ICE_INSTALL, ICE_VERSION, Origin};

/// ZeroC Ice.
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
        translate: &[&["slice2cpp", "Codec.ice"]],
        compile: &["-DICE_CPP11_MAPPING", "codec.cpp", "Codec.cpp", "-lIce++11"],
        version: ICE_VERSION,
        install: ICE_INSTALL,
    }),
};

/// omniORB: CDR, as in CORBA.
pub(crate) const OMNIORB: Contender = Contender {
    name: "omniorb",
    cases: ALL_CASES,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "codec-omniorb",
        sources: &[
            CODEC_HPP,
            ("codec.idl", include_str!("../../../contenders/codec.idl")),
            (
                "codec.cpp",
                include_str!("../../../contenders/omniorb/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        translate: &[&["omniidl", "-bcxx", "codec.idl"]],
        compile: &["codec.cpp", "codecSK.cc", "-lomniORB4", "-lomnithread"],
        version: &["sh", "-c", OMNIORB_VERSION],
        install: "libomniorb4-dev omniidl g++",
    }),
};

/// Fast CDR, of Fast DDS.
pub(crate) const FASTCDR: Contender = Contender {
    name: "fastcdr",
    cases: ALL_CASES,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "codec-fastcdr",
        sources: &[
            CODEC_HPP,
            (
                "codec.cpp",
                include_str!("../../../contenders/fastcdr/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        translate: &[],
        compile: &["codec.cpp", "-lfastcdr"],
        version: &["sh", "-c", FASTCDR_VERSION],
        install: "libfastcdr-dev g++",
    }),
};

/// Protocol Buffers.
pub(crate) const PROTOBUF: Contender = Contender {
    name: "protobuf",
    cases: ALL_CASES,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "codec-protobuf",
        sources: &[
            CODEC_HPP,
            (
                "codec.proto",
                include_str!("../../../contenders/protobuf/codec.proto"),
            ),
            (
                "codec.cpp",
                include_str!("../../../contenders/protobuf/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        translate: &[&["protoc", "--cpp_out=.", "codec.proto"]],
        compile: &["codec.cpp", "codec.pb.cc", "-lprotobuf"],
        version: &["protoc", "--version"],
        install: "libprotobuf-dev protobuf-compiler g++",
    }),
};

/// Cap'n Proto, whose messages are built, and walked in place.
pub(crate) const CAPNP: Contender = Contender {
    name: "capnp",
    cases: ALL_CASES,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "codec-capnp",
        sources: &[
            CODEC_HPP,
            (
                "codec.capnp",
                include_str!("../../../contenders/capnp/codec.capnp"),
            ),
            (
                "codec.cpp",
                include_str!("../../../contenders/capnp/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        translate: &[&["capnp", "compile", "-oc++", "codec.capnp"]],
        compile: &["codec.cpp", "codec.capnp.c++", "-lcapnp", "-lkj"],
        version: &["capnp", "--version"],
        install: "libcapnp-dev capnproto g++",
    }),
};

/// Cyclone DDS: CDR, as in DDS.
pub(crate) const CYCLONEDDS: Contender = Contender {
    name: "cyclonedds",
    cases: ALL_CASES,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "codec-cyclonedds",
        sources: &[
            CODEC_HPP,
            ("codec.idl", include_str!("../../../contenders/codec.idl")),
            (
                "codec.cpp",
                include_str!("../../../contenders/cyclonedds/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        translate: &[
            &["idlc", "codec.idl"],
            &["gcc", "-O2", "-I.", "-c", "codec.c"],
        ],
        compile: &["codec.cpp", "codec.o", "-lddsc"],
        version: &["idlc", "-v"],
        install: "cyclonedds-dev cyclonedds-tools g++",
    }),
};

/// gSOAP: XML.
pub(crate) const GSOAP: Contender = Contender {
    name: "gsoap",
    cases: ALL_CASES_BUT_THE_LONGEST,
    encoding: None,
    origin: Origin::Built(&CppProgram {
        folder: "codec-gsoap",
        sources: &[
            CODEC_HPP,
            ("codec.h", include_str!("../../../contenders/gsoap/codec.h")),
            (
                "codec.cpp",
                include_str!("../../../contenders/gsoap/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        translate: &[&["soapcpp2", "-CL", "-I/usr/share/gsoap/import", "codec.h"]],
        compile: &["codec.cpp", "soapC.cpp", "-lgsoap++"],
        version: &["soapcpp2", "-V"],
        install: "gsoap libgsoap-dev g++",
    }),
};

/// What the programs have in common.
const CODEC_HPP: (&str, &str) = ("codec.hpp", include_str!("../../../contenders/codec.hpp"));

/// omniORB's translator tells no version of the library, whose file does: `libomniORB4.so.2.5`.
const OMNIORB_VERSION: &str = "basename $(readlink -e $(g++ -print-file-name=libomniORB4.so))";

/// There is no translator. The file of the library tells its version: `libfastcdr.so.1.0.26`.
const FASTCDR_VERSION: &str = "basename $(readlink -e $(g++ -print-file-name=libfastcdr.so))";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_needs_is_what_xtask_installs() {
        let installed = include_str!("../../../../xtask/src/packages.rs");
        for peer in [ICE, OMNIORB, FASTCDR, PROTOBUF, CAPNP, CYCLONEDDS, GSOAP] {
            let Origin::Built(program) = peer.origin else {
                panic!("{} is built", peer.name);
            };
            for package in program.install.split(' ') {
                // The headers of Ice come with a package that stands for all of them.
                let package = package.replace("libzeroc-ice-dev", "zeroc-ice-all-dev");
                assert!(installed.contains(&format!("\"{package}\"")), "{package}");
            }
        }
    }
}
