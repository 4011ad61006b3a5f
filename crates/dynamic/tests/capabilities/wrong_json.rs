//! JSON that does not fit: each message says where, what was expected, what came, how to mend it.

use serde_json::json;

use crate::support::{contract, problem};

const SLICE: &str = r#"
module M
{
    enum Color { red, green, blue }
    sequence<byte> Bytes;
    dictionary<string, int> Ages;
    dictionary<int, string> Names;
    struct Point { int x; int y; }
    dictionary<Point, string> Places;
    struct Item { string name; short count = 1; Color color = red; }
    sequence<Item> Items;
    struct Order { Items items; Ages ages; }
    interface I;
}
"#;

fn message(r#type: &str, json: serde_json::Value) -> String {
    problem(&contract(SLICE), r#type, json)
}

#[test]
fn an_integer_out_of_range_is_named_with_its_range() {
    assert_eq!(
        message("byte", json!(256)),
        "value: expected a byte (0 to 255), got the number 256"
    );
    assert_eq!(
        message("int", json!(-2147483649_i64)),
        "value: expected an int (-2147483648 to 2147483647), got the number -2147483649"
    );
    assert_eq!(
        message("long", json!(9223372036854775808_u64)),
        "value: expected a long (-9223372036854775808 to 9223372036854775807), \
         got the number 9223372036854775808"
    );
    assert_eq!(
        message("float", json!(1e39)),
        "value: expected a float (a number up to 3.4028235e38, \"NaN\", \"Infinity\" or \
         \"-Infinity\"), got the number 1e+39"
    );
}

#[test]
fn another_kind_of_json_is_named() {
    assert_eq!(
        message("int", json!(1.5)),
        "value: expected an int (-2147483648 to 2147483647), got the number 1.5"
    );
    assert_eq!(
        message("bool", json!("true")),
        "value: expected a bool (true or false), got the string \"true\""
    );
    assert_eq!(
        message("string", json!(null)),
        "value: expected a string, got null"
    );
    assert_eq!(
        message("M::Point", json!([1, 2])),
        "value: expected an object with the members of ::M::Point (x, y), got an array of 2"
    );
    assert_eq!(
        message("M::Bytes", json!("abc")),
        "value: expected an array of byte for ::M::Bytes, got the string \"abc\""
    );
    assert_eq!(
        message("M::Places", json!({"a": 1})),
        "value: expected an array of [key, value] pairs for ::M::Places \
         (dictionary<::M::Point, string>), got an object with \"a\""
    );
}

#[test]
fn a_wrong_member_is_named_with_its_path_and_the_one_that_was_meant() {
    let json = json!({"items": [{"name": "a"}, {"nmae": "b"}], "ages": {}});
    assert_eq!(
        message("M::Order", json),
        "value.items[1].nmae: expected a member of ::M::Item (name, count, color), got \"nmae\"; \
         did you mean `name`?\n\
         value.items[1].name: expected a string, got nothing; ::M::Item has no default for it"
    );
}

#[test]
fn all_problems_of_a_value_are_told_at_once() {
    let json =
        json!({"items": [{"name": 1, "count": 40000, "color": "gren"}], "ages": {"Ada": "x"}});
    assert_eq!(
        message("M::Order", json),
        "value.items[0].name: expected a string, got the number 1\n\
         value.items[0].count: expected a short (-32768 to 32767), got the number 40000\n\
         value.items[0].color: expected an enumerator of ::M::Color (red, green, blue), got the \
         string \"gren\"; did you mean `green`?\n\
         value.ages[\"Ada\"]: expected an int (-2147483648 to 2147483647), got the string \"x\""
    );
}

#[test]
fn problems_beyond_what_a_reader_wants_are_counted() {
    let json = serde_json::Value::from(vec![-1; 1000]);
    let message = message("M::Bytes", json);
    assert_eq!(message.lines().count(), floe_dynamic::MAX_PROBLEMS + 1);
    assert!(message.ends_with("\nand 980 more problems"), "{message}");
    assert!(message.starts_with("value[0]: expected a byte (0 to 255), got the number -1\n"));
}

#[test]
fn an_enumerator_of_another_enumeration_is_refused() {
    assert_eq!(
        message("M::Color", json!("Paint::red")),
        "value: expected an enumerator of ::M::Color (red, green, blue), got the string \
         \"Paint::red\"; did you mean `red`?"
    );
    assert_eq!(
        message("M::Color", json!(0)),
        "value: expected an enumerator of ::M::Color (red, green, blue), got the number 0"
    );
}

#[test]
fn a_key_that_stands_twice_in_a_dictionary_is_refused() {
    assert_eq!(
        message("M::Names", json!({"1": "a", "01": "b"})),
        "value[\"01\"]: expected a key that the dictionary does not have yet, got the same key again"
    );
    assert_eq!(
        message(
            "M::Places",
            json!([[{"x": 1, "y": 2}, "a"], [{"y": 2, "x": 1}, "b"]])
        ),
        "value[1]: expected a key that the dictionary does not have yet, got the same key again"
    );
}

#[test]
fn a_key_of_the_wrong_type_is_named() {
    assert_eq!(
        message("M::Names", json!({"one": "a"})),
        "value[\"one\"]: expected an int (-2147483648 to 2147483647), got the string \"one\""
    );
    assert_eq!(
        message("M::Ages", json!([["Ada", 1, 2]])),
        "value[0]: expected a pair [key, value], got an array of 3"
    );
}

#[test]
fn text_that_is_no_proxy_is_refused_with_the_reason() {
    let message = message("M::I*", json!("hello:nonsense -h"));
    let start = "value: expected a proxy as text, or null, for ::M::I*, got the string \
                 \"hello:nonsense -h\"; ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.len() > start.len());
}

#[test]
fn a_name_that_no_member_can_have_is_quoted_in_the_path() {
    assert_eq!(
        message("M::Point", json!({"x": 1, "y": 2, "z z": 3})),
        "value[\"z z\"]: expected a member of ::M::Point (x, y), got \"z z\""
    );
}

#[test]
fn long_text_is_shortened_in_a_message() {
    let text = "x".repeat(10_000);
    let as_value = message("int", json!(text));
    assert!(as_value.len() < 200, "{as_value}");
    let as_name = message("M::Point", json!({"x": 1, "y": 2, text: 3}));
    assert!(as_name.len() < 300, "{as_name}");
}
