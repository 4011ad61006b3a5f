//! Contenders of the scenario `rpc`: a server and a client each.
//!
//! - `case.rs`: what there is to do
//! - `payload.rs`: the values that travel, and how a client knows that they came
//! - the rest: the contenders, a file each; those that are built have their sources in `contenders/`

mod capnp;
pub(crate) mod case;
mod cyclonedds;
pub(crate) mod floe;
pub(crate) mod floor;
mod grpc_cpp;
mod ice;
mod omniorb;
pub(crate) mod payload;
mod tonic;
mod zeromq;

pub(crate) use capnp::CAPNP;
pub(crate) use cyclonedds::CYCLONEDDS;
pub(crate) use floe::{FLOE, FLOE_TUNED};
pub(crate) use floor::FLOOR;
pub(crate) use grpc_cpp::GRPC_CPP;
pub(crate) use ice::ICE;
pub(crate) use omniorb::OMNIORB;
pub(crate) use tonic::TONIC;
pub(crate) use zeromq::ZEROMQ;

use case::Case;

/// Why a contender does not offer a case: what `why` says of it.
fn refusal(name: &str, why: fn(Case) -> Option<&'static str>) -> Option<&'static str> {
    Case::parse(name).map_or(Some("the scenario has no such case"), why)
}

/// Where a server of this process listens: a name that no other has, in the folder that the lab gives to each
/// process and removes with all that is in it.
fn socket_path() -> String {
    let name = format!("floe-lab-{}.socket", std::process::id());
    std::env::temp_dir().join(name).display().to_string()
}

/// The operations, for those that speak gRPC.
const CALLS_PROTO: (&str, &str) = (
    "calls.proto",
    include_str!("../../../contenders/calls.proto"),
);

/// The header that the programs in C++ share.
const CALLS_HPP: (&str, &str) = ("calls.hpp", include_str!("../../../contenders/calls.hpp"));
