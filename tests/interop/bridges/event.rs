//! The events of all tests: one for each world and seed, with a value of each kind.

use floe_bridges::core::mapping::EventTypes;
use floe_dynamic::{Contract, to_hex};
use floe_slice::check_source;
use floe_wire::encoding::EncodingVersion;
use serde_json::{Value, json};

/// The contract, `Worlds.ice`.
pub(crate) fn contract() -> Contract {
    let checked = check_source(include_bytes!("../../../examples/worlds/Worlds.ice"));
    assert!(!checked.has_errors(), "the contract has no errors");
    Contract::new(checked.model)
}

/// The event of a publisher and a seed, as peers print it.
pub(crate) fn json(world: &str, seed: i64) -> Value {
    let is_odd = seed % 2 != 0;
    json!({
        "side": if is_odd { "sell" } else { "buy" },
        "venue": {"name": format!("Zürich 東京 {world}"), "line": seed},
        "book": [
            {"price": seed as f64 + 0.25, "size": -1_099_511_627_776_i64 - seed},
            {"price": -0.5, "size": 9_007_199_254_740_993_i64},
        ],
        "raw": to_hex(&raw(seed)),
        "firm": is_odd,
        "id": 4_611_686_018_427_387_904_i64 + seed,
        "price": seed as f64 / 8.0,
        "text": format!("naïve ✓ {world} {seed}"),
    })
}

fn raw(seed: i64) -> [u8; 6] {
    [0, 1, 127, 128, 255, (seed % 256) as u8]
}

/// The parameters of the event, as an Ice program encodes them.
pub(crate) fn parameters(world: &str, seed: i64) -> Vec<u8> {
    let mut tick = json(world, seed);
    tick["raw"] = json!(raw(seed));
    let events = EventTypes::new(&contract(), "::Worlds::Ticker").expect("it is there");
    let operation = events.only().expect("it has one operation").operation();
    let encoded = operation.encode_request(&json!({"tick": tick}), EncodingVersion::V1_1);
    encoded.expect("it fits the contract")
}

/// A line of a peer as an event.
pub(crate) fn parse(line: &str) -> Value {
    serde_json::from_str(line)
        .unwrap_or_else(|error| panic!("expected JSON, got `{line}`: {error}"))
}
