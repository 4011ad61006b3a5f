//! One field is read out of encoded parameters.

use floe_dynamic::{Field, Operation};
use floe_wire::EncodingVersion;
use serde_json::{Value as Json, json};

use crate::support::contract;

const SLICE: &str = "
    module M
    {
        enum Color { red, green, blue }
        sequence<byte> Blob;
        sequence<double> Doubles;
        sequence<string> Strings;
        dictionary<string, int> Counts;
        struct Point { int x; int y; }
        sequence<Point> Points;
        struct Item { string name; Point at; Color color; Doubles weights; Strings tags; }
        sequence<Item> Items;
        class Tree { int height; }
        interface I
        {
            void put(bool isNew, Items items, Counts counts, Object* owner, Points points, Blob blob, float last);
            void maybe(optional(5) string name, int kind, optional(2) Point where);
            void plant(int before, Tree tree, int after);
        }
    }";

fn operation(name: &str) -> Operation {
    contract(SLICE).operation(name).expect("it is there")
}

fn parameters() -> Json {
    json!({
        "isNew": true,
        "items": [
            {"name": "a", "at": {"x": 1, "y": 2}, "color": "green", "weights": [0.5, 1.5], "tags": ["t"]},
            {"name": "b", "at": {"x": 3, "y": 4}, "color": "blue", "weights": [2.5], "tags": ["u", "v"]},
        ],
        "counts": {"one": 1, "two": 2},
        "owner": "hello -t -e 1.1:tcp -h localhost -p 10000 -t 60000",
        "points": [{"x": 5, "y": 6}, {"x": 7, "y": 8}],
        "blob": [9, 10],
        "last": 0.25,
    })
}

#[test]
fn a_field_is_found_behind_values_of_any_type_in_both_encodings() {
    let put = operation("put");
    for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
        let bytes = put
            .encode_request(&parameters(), encoding)
            .expect("it fits");
        for (path, expected) in [
            ("isNew", Some(Field::Bool(true))),
            ("items[0].name", Some(Field::String("a"))),
            ("items[1].at.y", Some(Field::Int(4))),
            ("items[1].color", Some(Field::Enumerator(2))),
            ("items[0].weights[1]", Some(Field::Double(1.5))),
            ("items[0].weights[2]", None),
            ("items[1].tags[1]", Some(Field::String("v"))),
            ("items[2].name", None),
            ("points[1].y", Some(Field::Int(8))),
            ("blob", Some(Field::Bytes(&[9, 10]))),
            ("last", Some(Field::Float(0.25))),
        ] {
            let field = put.field(path).expect("the path leads to a field");
            assert_eq!(field.read(&bytes), Ok(expected), "{path} in {encoding}");
        }
    }
    let color = put
        .field("items[1].color")
        .expect("the path leads to a field");
    let names = color.enumeration().expect("it is one");
    assert_eq!(names.name(2), "blue");
}

#[test]
fn an_optional_field_is_found_by_its_tag_or_has_no_value() {
    let maybe = operation("maybe");
    let all = json!({"name": "n", "kind": 1, "where": {"x": 2, "y": 3}});
    let bytes = maybe
        .encode_request(&all, EncodingVersion::V1_1)
        .expect("it fits");
    let few = maybe
        .encode_request(&json!({"kind": 1}), EncodingVersion::V1_1)
        .expect("it fits");
    for (path, expected) in [("name", Field::String("n")), ("where.y", Field::Int(3))] {
        let field = maybe.field(path).expect("the path leads to a field");
        assert_eq!(field.read(&bytes), Ok(Some(expected)));
        assert_eq!(field.read(&few), Ok(None));
    }
}

#[test]
fn bytes_that_end_before_the_field_are_refused_wherever_they_end() {
    let put = operation("put");
    let bytes = put
        .encode_request(&parameters(), EncodingVersion::V1_1)
        .expect("it fits");
    let field = put.field("last").expect("the path leads to a field");
    for len in 6..bytes.len() {
        let mut cut = bytes[..len].to_vec();
        cut[..4].copy_from_slice(&(len as u32).to_le_bytes());
        let error = field.read(&cut).expect_err("it is cut");
        assert_eq!(error.path, "params.last");
    }
    // A count that no memory has.
    let mut hostile = bytes[..7].to_vec();
    hostile.extend_from_slice(b"\xff\xff\xff\xff\x7f");
    hostile[..4].copy_from_slice(&12_u32.to_le_bytes());
    assert!(field.read(&hostile).is_err());
}

#[test]
fn a_path_that_leads_nowhere_says_where_it_ends() {
    let put = operation("put");
    let error = |path: &str| put.field(path).expect_err("it leads nowhere").to_string();
    assert_eq!(
        error("itms"),
        "put has no parameter `itms`; did you mean `items`?"
    );
    assert_eq!(
        error("items[0].at.z"),
        "items[0].at: ::M::Point has no member `z`; did you mean `x`?"
    );
    assert_eq!(
        error("items[0].colour"),
        "items[0]: ::M::Item has no member `colour`; did you mean `color`?"
    );
    assert_eq!(
        error("items[0].at"),
        "items[0].at: ::M::Point has several parts: expected a path to a bool, number, string, enumerator or sequence<byte>"
    );
    assert_eq!(error("isNew.x"), "isNew: bool has no members");
    assert_eq!(
        error("counts[0]"),
        "counts: ::M::Counts has no elements that a path can lead to"
    );
    assert_eq!(
        error("items[x]"),
        "items: expected .member or [index], as in `items[0].price`, got `[x]`"
    );
}

#[test]
fn a_field_behind_a_class_instance_is_refused_before_any_bytes_come() {
    let plant = operation("plant");
    assert!(plant.field("before").is_ok());
    let error = plant.field("after").expect_err("a tree is before it");
    assert_eq!(
        error.to_string(),
        "after: a class instance (::M::Tree) stands before the field; expected a field in front of all class instances"
    );
}
