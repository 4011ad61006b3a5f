//! The peers: programs of ours in C++, each with the library that it is named after.
//!
//! How each reuses its buffers, and what decoding is to it, stands at the head of its source.

use super::ICE_ENCODING;
use super::value::cpp_header;
use crate::contender::{
    CODEC_CAPNP, CODEC_ICE, CODEC_IDL, CODEC_PROTO, Contender, Origin, Program, gxx, peer,
};

/// ZeroC Ice.
pub(crate) const ICE: Contender = Contender {
    name: "ice",
    refusal: |_| None,
    encoding: ICE_ENCODING,
    origin: Origin::Built(&Program {
        peer: &peer::ICE,
        folder: "codec-ice",
        sources: &[
            CODEC_HPP,
            CODEC_ICE,
            (
                "codec.cpp",
                include_str!("../../../contenders/ice/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[
            &["slice2cpp", "Codec.ice"],
            gxx!["-DICE_CPP11_MAPPING", "codec.cpp", "Codec.cpp", "-lIce++11"],
        ],
    }),
};

/// omniORB: CDR, as in CORBA.
pub(crate) const OMNIORB: Contender = Contender {
    name: "omniorb",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::OMNIORB,
        folder: "codec-omniorb",
        sources: &[
            CODEC_HPP,
            CODEC_IDL,
            (
                "codec.cpp",
                include_str!("../../../contenders/omniorb/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[
            &["omniidl", "-bcxx", "codec.idl"],
            gxx!["codec.cpp", "codecSK.cc", "-lomniORB4", "-lomnithread"],
        ],
    }),
};

/// Fast CDR, of Fast DDS.
pub(crate) const FASTCDR: Contender = Contender {
    name: "fastcdr",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::FASTCDR,
        folder: "codec-fastcdr",
        sources: &[
            CODEC_HPP,
            (
                "codec.cpp",
                include_str!("../../../contenders/fastcdr/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[gxx!["codec.cpp", "-lfastcdr"]],
    }),
};

/// Protocol Buffers.
pub(crate) const PROTOBUF: Contender = Contender {
    name: "protobuf",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::PROTOBUF,
        folder: "codec-protobuf",
        sources: &[
            CODEC_HPP,
            CODEC_PROTO,
            (
                "codec.cpp",
                include_str!("../../../contenders/protobuf/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[
            &["protoc", "--cpp_out=.", "codec.proto"],
            gxx!["codec.cpp", "codec.pb.cc", "-lprotobuf"],
        ],
    }),
};

/// Cap'n Proto, whose messages are built, and walked in place.
pub(crate) const CAPNP: Contender = Contender {
    name: "capnp",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::CAPNP,
        folder: "codec-capnp",
        sources: &[
            CODEC_HPP,
            CODEC_CAPNP,
            (
                "codec.cpp",
                include_str!("../../../contenders/capnp/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[
            &["capnp", "compile", "-oc++", "codec.capnp"],
            gxx!["codec.cpp", "codec.capnp.c++", "-lcapnp", "-lkj"],
        ],
    }),
};

/// Cyclone DDS: CDR, as in DDS.
pub(crate) const CYCLONEDDS: Contender = Contender {
    name: "cyclonedds",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::CYCLONEDDS,
        folder: "codec-cyclonedds",
        sources: &[
            CODEC_HPP,
            CODEC_IDL,
            (
                "codec.cpp",
                include_str!("../../../contenders/cyclonedds/codec.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[
            &["idlc", "codec.idl"],
            &["gcc", "-O2", "-I.", "-c", "codec.c"],
            gxx!["codec.cpp", "codec.o", "-lddsc"],
        ],
    }),
};

/// gSOAP: XML.
pub(crate) const GSOAP: Contender = Contender {
    name: "gsoap",
    refusal: |case| {
        case.starts_with("doubles-1000000/")
            .then_some("a document of 32 MB")
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::GSOAP,
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
        build: &[
            &["soapcpp2", "-CL", "-I/usr/share/gsoap/import", "codec.h"],
            gxx!["codec.cpp", "soapC.cpp", "-lgsoap++"],
        ],
    }),
};

/// The header that the programs share.
const CODEC_HPP: (&str, &str) = ("codec.hpp", include_str!("../../../contenders/codec.hpp"));
