//! How long does it take to encode and to decode?

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::codec::{
    CAPNP, CYCLONEDDS, FASTCDR, FLOE, FLOE_VIEW, FLOOR, GSOAP, ICE, OMNIORB, PROTOBUF,
};
use crate::placement::Placement;

pub(super) const CODEC: ScenarioInfo = ScenarioInfo {
    name: "codec",
    summary: "how long values take to become bytes, and bytes to become values, in memory",
    contenders: &[
        &FLOOR,
        &FLOE,
        &FLOE_VIEW,
        &ICE,
        &OMNIORB,
        &FASTCDR,
        &PROTOBUF,
        &CAPNP,
        &CYCLONEDDS,
        &GSOAP,
    ],
    groups: &[],
    processes: Processes::One,
    cases: &[
        case("bytes-1000/encode", "1,000 bytes"),
        case("bytes-1000/decode", "1,000 bytes"),
        case("bytes-65536/encode", "65,536 bytes"),
        case("bytes-65536/decode", "65,536 bytes"),
        case("bytes-1000000/encode", "1,000,000 bytes"),
        case("bytes-1000000/decode", "1,000,000 bytes"),
        case("doubles-1000/encode", "1,000 doubles"),
        case("doubles-1000/decode", "1,000 doubles"),
        case("doubles-100000/encode", "100,000 doubles"),
        case("doubles-100000/decode", "100,000 doubles"),
        case("doubles-1000000/encode", "1,000,000 doubles"),
        case("doubles-1000000/decode", "1,000,000 doubles"),
        case("nested/encode", NESTED),
        case("nested/decode", NESTED),
        case("text/encode", TEXT),
        case("text/decode", TEXT),
        case("bibliography/encode", BIBLIOGRAPHY),
        case("bibliography/decode", BIBLIOGRAPHY),
    ],
    families: &[],
    variants: &["/encode", "/decode"],
    unit: |_| Unit::Microseconds,
    placement: Placement::Apart,
    knows: |_| false,
    ratios: &[
        ("floe", "floor"),
        ("floe-view", "floor"),
        ("ice", "floe"),
        ("ice", "floe-view"),
        ("omniorb", "floe"),
        ("fastcdr", "floe"),
        ("protobuf", "floe"),
        ("capnp", "floe"),
        ("capnp", "floe-view"),
        ("cyclonedds", "floe"),
        ("gsoap", "floe"),
    ],
};

const NESTED: &str = "1,024 records, each a sequence of 4 records of an integer and a double";
const TEXT: &str = "116 lines of text as a sequence of strings";
const BIBLIOGRAPHY: &str = "75 works: structures of strings and numbers with a sequence of authors";
