//! Types of the contract as omniidl makes them, and values.

use floe_giop::any::Value;
use floe_giop::type_code::{Member, TypeCode, TypeName};
use serde_json::{Value as Json, json};

pub(crate) fn tick_code() -> TypeCode {
    let name = TypeName::scoped("Demo", "Bytes");
    let original = TypeCode::sequence(TypeCode::Octet).into();
    let side = TypeCode::enumeration(TypeName::scoped("Demo", "Side"), &["Side_buy", "Side_sell"]);
    TypeCode::structure(
        TypeName::scoped("Demo", "Tick"),
        vec![
            Member::new("side", side),
            Member::new("text", TypeCode::STRING),
            Member::new("id", TypeCode::LongLong),
            Member::new("raw", TypeCode::Alias { name, original }),
        ],
    )
}

pub(crate) fn tick(text: &str, id: i64) -> Value {
    Value::Struct(vec![
        Value::Enum(1),
        Value::String(text.to_owned()),
        Value::LongLong(id),
        Value::Octets(vec![0, 255, 128]),
    ])
}

pub(crate) fn tick_json(text: &str, id: i64) -> Json {
    json!({"tick": {"side": "sell", "text": text, "id": id, "raw": [0, 255, 128]}})
}
