//! Built-in types, and sequences and dictionaries of them.

use std::collections::BTreeMap;

use crate::file::{Vector, load};
use crate::json::FromJson;

#[test]
fn primitives_are_encoded_as_ice_does() {
    run_all("primitives");
}

#[test]
fn strings_are_encoded_as_ice_does() {
    run_all("strings");
}

#[test]
fn sizes_are_encoded_as_ice_does() {
    run_all("sizes");
}

#[test]
fn sequences_of_built_in_types_are_encoded_as_ice_does() {
    // Structs and enumerations are generated, or typed by a model: crate `dynamic` runs these.
    let left_out = ["pointseq", "colorseq_e10", "colorseq_e11"];
    let (skipped, vectors): (Vec<_>, Vec<_>) = load("sequences")
        .into_iter()
        .partition(|vector| left_out.contains(&vector.name.as_str()));
    assert_eq!(skipped.len(), left_out.len());
    for vector in &vectors {
        assert!(
            run(vector),
            "{}: no type {}",
            vector.name,
            vector.text("type")
        );
    }
}

fn run_all(file: &str) {
    for vector in load(file) {
        assert!(
            run(&vector),
            "{}: no type {}",
            vector.name,
            vector.text("type")
        );
    }
}

/// Runs a vector, unless there is no such type here.
fn run(vector: &Vector) -> bool {
    match vector.text("type") {
        "bool" => vector.check(bool::from_json),
        "byte" => vector.check(u8::from_json),
        "short" => vector.check(i16::from_json),
        "int" => vector.check(i32::from_json),
        "long" => vector.check(i64::from_json),
        "float" => vector.check(f32::from_json),
        "double" => vector.check(f64::from_json),
        "string" => vector.check(String::from_json),
        "V::BoolSeq" => vector.check(Vec::<bool>::from_json),
        "V::ByteSeq" => vector.check(Vec::<u8>::from_json),
        "V::ShortSeq" => vector.check(Vec::<i16>::from_json),
        "V::IntSeq" => vector.check(Vec::<i32>::from_json),
        "V::LongSeq" => vector.check(Vec::<i64>::from_json),
        "V::FloatSeq" => vector.check(Vec::<f32>::from_json),
        "V::DoubleSeq" => vector.check(Vec::<f64>::from_json),
        "V::StringSeq" => vector.check(Vec::<String>::from_json),
        "V::IntSeqSeq" => vector.check(Vec::<Vec<i32>>::from_json),
        "V::StringSeqSeq" => vector.check(Vec::<Vec<String>>::from_json),
        "V::DictSeq" => vector.check(Vec::<BTreeMap<String, i32>>::from_json),
        _ => return false,
    }
    true
}
