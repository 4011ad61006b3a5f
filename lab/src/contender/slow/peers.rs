//! The peers that send documents: programs of ours in C++, each with the library that it is named after.

use super::case::documents_only;
use crate::contender::codec::value::cpp_header;
use crate::contender::{CODEC_ICE, CODEC_IDL, CODEC_PROTO, Contender, Origin, Program, gxx, peer};

/// ZeroC Ice.
pub(crate) const ICE: Contender = Contender {
    name: "ice",
    refusal: documents_only,
    encoding: None,
    origin: Origin::Built(&Program {
        folder: "documents-ice",
        build: &[
            &["slice2cpp", "Codec.ice"],
            &["slice2cpp", "-I.", "Documents.ice"],
            gxx![
                "-DICE_CPP11_MAPPING",
                "documents.cpp",
                "Documents.cpp",
                "Codec.cpp",
                "-lIce++11"
            ],
        ],
        ..ICE_PROGRAM
    }),
};

/// ZeroC Ice, whose messages are compressed.
pub(crate) const ICE_BZIP2: Contender = Contender {
    name: "ice-bzip2",
    origin: Origin::Built(&Program {
        folder: "documents-ice-bzip2",
        build: &[
            &["slice2cpp", "Codec.ice"],
            &["slice2cpp", "-I.", "Documents.ice"],
            gxx![
                "-DICE_CPP11_MAPPING",
                "-DLAB_COMPRESS",
                "documents.cpp",
                "Documents.cpp",
                "Codec.cpp",
                "-lIce++11"
            ],
        ],
        ..ICE_PROGRAM
    }),
    ..ICE
};

const ICE_PROGRAM: Program = Program {
    peer: &peer::ICE,
    folder: "",
    sources: &[
        DOCUMENTS_HPP,
        CODEC_ICE,
        (
            "Documents.ice",
            include_str!("../../../contracts/Documents.ice"),
        ),
        (
            "documents.cpp",
            include_str!("../../../contenders/ice/documents.cpp"),
        ),
    ],
    data: Some(cpp_header),
    build: &[],
};

/// omniORB: CORBA.
pub(crate) const OMNIORB: Contender = Contender {
    name: "omniorb",
    refusal: documents_only,
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::OMNIORB,
        folder: "documents-omniorb",
        sources: &[
            DOCUMENTS_HPP,
            CODEC_IDL,
            (
                "documents.idl",
                include_str!("../../../contenders/omniorb/documents.idl"),
            ),
            (
                "documents.cpp",
                include_str!("../../../contenders/omniorb/documents.cpp"),
            ),
        ],
        data: Some(cpp_header),
        build: &[
            &["omniidl", "-bcxx", "codec.idl"],
            &["omniidl", "-bcxx", "documents.idl"],
            gxx![
                "documents.cpp",
                "documentsSK.cc",
                "codecSK.cc",
                "-lomniORB4",
                "-lomnithread",
            ],
        ],
    }),
};

/// gRPC in C++.
pub(crate) const GRPC_CPP: Contender = Contender {
    name: "grpc-cpp",
    refusal: documents_only,
    encoding: None,
    origin: Origin::Built(&Program {
        folder: "documents-grpc",
        build: &[
            &["protoc", "--cpp_out=.", "codec.proto", "documents.proto"],
            GRPC_PLUGIN,
            gxx![
                "documents.cpp",
                "documents.grpc.pb.cc",
                "documents.pb.cc",
                "codec.pb.cc",
                "-lgrpc++",
                "-lgrpc",
                "-lgpr",
                "-lprotobuf",
                "-labsl_synchronization",
            ],
        ],
        ..GRPC_PROGRAM
    }),
};

/// gRPC in C++, whose messages are compressed.
pub(crate) const GRPC_CPP_GZIP: Contender = Contender {
    name: "grpc-cpp-gzip",
    origin: Origin::Built(&Program {
        folder: "documents-grpc-gzip",
        build: &[
            &["protoc", "--cpp_out=.", "codec.proto", "documents.proto"],
            GRPC_PLUGIN,
            gxx![
                "-DLAB_COMPRESS",
                "documents.cpp",
                "documents.grpc.pb.cc",
                "documents.pb.cc",
                "codec.pb.cc",
                "-lgrpc++",
                "-lgrpc",
                "-lgpr",
                "-lprotobuf",
                "-labsl_synchronization",
            ],
        ],
        ..GRPC_PROGRAM
    }),
    ..GRPC_CPP
};

const GRPC_PROGRAM: Program = Program {
    peer: &peer::GRPC,
    folder: "",
    sources: &[
        DOCUMENTS_HPP,
        CODEC_PROTO,
        (
            "documents.proto",
            include_str!("../../../contenders/documents.proto"),
        ),
        (
            "documents.cpp",
            include_str!("../../../contenders/grpc-cpp/documents.cpp"),
        ),
    ],
    data: Some(cpp_header),
    build: &[],
};

const GRPC_PLUGIN: &[&str] = &[
    "sh",
    "-c",
    "protoc --grpc_out=. --plugin=protoc-gen-grpc=$(command -v grpc_cpp_plugin) documents.proto",
];

/// The header that the programs share.
const DOCUMENTS_HPP: (&str, &str) = (
    "documents.hpp",
    include_str!("../../../contenders/documents.hpp"),
);
