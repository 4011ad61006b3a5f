//! gRPC in C++.

use super::case::{Case, Work};
use super::{CALLS_HPP, CALLS_PROTO, refusal};
use crate::contender::{CODEC_PROTO, Contender, Origin, Program, gxx, peer};

pub(crate) const GRPC_CPP: Contender = Contender {
    name: "grpc-cpp",
    refusal: |case| {
        refusal(case, |case| match case {
            Case {
                is_polling: true, ..
            } => Some("the threads of gRPC sleep, and have no setting to poll"),
            Case {
                work: Work::Batch, ..
            } => Some("gRPC has no batches: see oneway, which is a stream"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::GRPC,
        folder: "grpc-cpp",
        sources: &[
            CALLS_HPP,
            CODEC_PROTO,
            CALLS_PROTO,
            (
                "calls.cpp",
                include_str!("../../../contenders/grpc-cpp/calls.cpp"),
            ),
        ],
        data: None,
        build: &[
            &["protoc", "--cpp_out=.", "codec.proto", "calls.proto"],
            &[
                "sh",
                "-c",
                "protoc --grpc_out=. --plugin=protoc-gen-grpc=$(command -v grpc_cpp_plugin) calls.proto",
            ],
            gxx![
                "calls.cpp",
                "calls.grpc.pb.cc",
                "calls.pb.cc",
                "codec.pb.cc",
                "-lgrpc++",
                "-lgrpc",
                "-lgpr",
                "-lprotobuf",
                "-labsl_synchronization",
            ],
        ],
    }),
};
