//! The table of values as JSON in the crate's documentation.

use floe_dynamic::Value;
use serde_json::{Value as Json, json};

use crate::support::{contract, problem, through_bytes, value};

const SLICE: &str = r#"
module M
{
    enum Color { red, green = 5, blue }
    sequence<byte> Bytes;
    sequence<int> Ints;
    sequence<Ints> Table;
    dictionary<string, int> Ages;
    dictionary<int, string> Names;
    dictionary<bool, byte> Flags;
    dictionary<Color, string> Paints;
    struct Point { int x; int y; }
    dictionary<Point, string> Places;
    struct Defaults { bool b = true; byte y = 7; long l = -3; float f = 1.5; double d = 2;
                      string s = "text"; Color c = blue; int required; }
    interface I;
    struct Proxies { I* proxy; Object* other; }
}
"#;

/// JSON that is the same on the way in and on the way out.
fn is_kept(r#type: &str, json: Json) {
    let contract = contract(SLICE);
    assert_eq!(through_bytes(&contract, r#type, &json), json, "{type}");
}

#[test]
fn built_in_values_are_bools_numbers_and_strings() {
    is_kept("bool", json!(true));
    is_kept("byte", json!(255));
    is_kept("short", json!(-32768));
    is_kept("int", json!(2147483647));
    is_kept("long", json!(9223372036854775807_i64));
    is_kept("float", json!(1.5));
    is_kept("double", json!(5e-324));
    is_kept("string", json!("日本 \u{0} \"quoted\""));
}

#[test]
fn a_float_is_written_as_the_shortest_number_that_reads_back_the_same() {
    is_kept("float", json!(0.1));
    is_kept("float", json!(3.4028235e38));
    is_kept("float", json!(1e-45));
    is_kept("float", json!(16777216.0));
}

#[test]
fn a_number_that_json_lacks_is_its_name() {
    for r#type in ["float", "double"] {
        is_kept(r#type, json!("NaN"));
        is_kept(r#type, json!("Infinity"));
        is_kept(r#type, json!("-Infinity"));
    }
}

#[test]
fn negative_zero_keeps_its_sign() {
    let contract = contract(SLICE);
    let json = floe_dynamic::parse_json("-0.0").expect("valid JSON");
    let written = through_bytes(&contract, "double", &json).to_string();
    assert_eq!(written, "-0.0");
    assert_eq!(value(&contract, "float", &json), Value::Float(-0.0));
    assert!(
        matches!(value(&contract, "float", &json), Value::Float(zero) if zero.is_sign_negative())
    );
}

#[test]
fn an_integer_may_be_written_with_a_fraction_of_zero_and_a_long_as_text() {
    let contract = contract(SLICE);
    assert_eq!(value(&contract, "int", &json!(5.0)), Value::Int(5));
    let bytes = value(&contract, "M::Bytes", &json!([5.0, 6]));
    assert_eq!(bytes, Value::Bytes(vec![5, 6]));
    let text = json!("-9223372036854775808");
    assert_eq!(value(&contract, "long", &text), Value::Long(i64::MIN));
    let largest = json!(9_007_199_254_740_991.0);
    let expected = Value::Long(9_007_199_254_740_991);
    assert_eq!(value(&contract, "long", &largest), expected);
    // As a double, it is the number before it.
    let beyond = floe_dynamic::parse_json("9007199254740993.0").expect("valid JSON");
    let told = problem(&contract, "long", beyond);
    assert!(told.contains("expected"), "{told}");
}

#[test]
fn an_enumerator_is_its_name_which_may_be_scoped_on_input() {
    is_kept("M::Color", json!("green"));
    let contract = contract(SLICE);
    for name in [
        "green",
        "Color::green",
        "M::Color::green",
        "::M::Color::green",
    ] {
        let value = value(&contract, "M::Color", &json!(name));
        assert_eq!(value, Value::Enumerator(5), "{name}");
    }
}

#[test]
fn a_struct_is_an_object_in_order_of_declaration() {
    let contract = contract(SLICE);
    let written = through_bytes(&contract, "M::Point", &json!({"y": 2, "x": 1}));
    assert_eq!(written.to_string(), r#"{"x":1,"y":2}"#);
}

#[test]
fn members_with_defaults_may_be_left_out() {
    let contract = contract(SLICE);
    let written = through_bytes(&contract, "M::Defaults", &json!({"required": 1}));
    let expected = json!({"b": true, "y": 7, "l": -3, "f": 1.5, "d": 2.0, "s": "text", "c": "blue",
                          "required": 1});
    assert_eq!(written, expected);
    let given = json!({"b": false, "y": 0, "l": 0, "f": 0.0, "d": 0.0, "s": "", "c": "red",
                       "required": 0});
    is_kept("M::Defaults", given);
}

#[test]
fn sequences_are_arrays() {
    is_kept("M::Bytes", json!([0, 127, 255]));
    is_kept("M::Table", json!([[1, 2], [], [3]]));
    let contract = contract(SLICE);
    let bytes = value(&contract, "M::Bytes", &json!([1, 2]));
    assert_eq!(bytes, Value::Bytes(vec![1, 2]));
}

#[test]
fn dictionaries_with_simple_keys_are_objects() {
    is_kept("M::Ages", json!({"Ada": 36, "": 0}));
    is_kept("M::Names", json!({"-1": "minus one", "42": "answer"}));
    is_kept("M::Flags", json!({"true": 1, "false": 0}));
    is_kept("M::Paints", json!({"red": "rose", "blue": "sky"}));
}

#[test]
fn dictionaries_with_struct_keys_are_arrays_of_pairs() {
    is_kept(
        "M::Places",
        json!([[{"x": 1, "y": 2}, "home"], [{"x": 0, "y": 0}, "origin"]]),
    );
}

#[test]
fn any_dictionary_may_be_given_as_pairs() {
    let contract = contract(SLICE);
    let pairs = json!([[42, "answer"], [-1, "minus one"]]);
    let written = through_bytes(&contract, "M::Names", &pairs);
    assert_eq!(written, json!({"42": "answer", "-1": "minus one"}));
}

#[test]
fn a_proxy_is_its_text_and_a_nil_proxy_is_null() {
    let text = "cat/hello -f v2 -o -e 1.1:tcp -h 10.0.0.1 -p 4061 -t 5000";
    let json = json!({"proxy": text, "other": null});
    let contract = contract(SLICE);
    let value = value(&contract, "M::Proxies", &json);
    let holder = contract.data_type("M::Proxies").expect("a supported type");
    assert_eq!(contract.value_to_json(holder, &value), json);
    is_kept("M::I*", json!(null));
}
