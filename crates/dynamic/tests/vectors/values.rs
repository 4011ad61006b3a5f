//! Values: notation to bytes, bytes to notation, and through JSON.

use floe_wire::{Decoder, Encoder};

use crate::file::{Vector, hex, load};
use crate::notation;

#[test]
fn values_of_every_type_are_encoded_and_decoded_as_by_ice() {
    let expected = [
        ("primitives", 31),
        ("strings", 12),
        ("sizes", 7),
        ("sequences", 15),
        ("structs", 8),
        ("dictionaries", 11),
        ("enums", 30),
        ("proxies", 57),
    ];
    for (file, count) in expected {
        let vectors = load(file);
        assert_eq!(vectors.len(), count, "{file} has another number of vectors");
        vectors.iter().for_each(check);
    }
}

fn check(vector: &Vector) {
    let name = &vector.name;
    let contract = vector.contract();
    let found = contract.data_type(vector.text("type"));
    let r#type = found.unwrap_or_else(|error| panic!("{name}: {error}"));

    let value = notation::value(&contract, r#type.get(), vector.value());
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, vector.encoding());
    let encoded = contract.encode(r#type, &value, &mut encoder);
    encoded.unwrap_or_else(|error| panic!("{name}: {error}"));
    encoder
        .finish()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    // Also where the vector leaves the order of entries open: it states them in that of the wire.
    assert_eq!(hex(&bytes), hex(&vector.bytes), "encoding of {name}");

    let mut decoder = Decoder::new(&vector.bytes, vector.encoding());
    let decoded = contract.decode(r#type, &mut decoder);
    let decoded = decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
    let ended = decoder.finish_exact("vector");
    ended.unwrap_or_else(|error| panic!("{name}: {error}"));
    // As text, because it tells -0.0 from 0.0 and NaN is like NaN.
    let expected = notation::value(&contract, r#type.get(), vector.decoded_value());
    assert_eq!(format!("{decoded:?}"), format!("{expected:?}"), "{name}");

    let json = contract.value_to_json(r#type, &decoded);
    let read = contract.value_from_json(r#type, &json);
    let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(
        format!("{read:?}"),
        format!("{decoded:?}"),
        "{name} as {json}"
    );
}
