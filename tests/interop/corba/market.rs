//! The types of `market.idl`, and values of them, as `peer.py` has them.

use floe_giop::any::{UnionValue, Value};
use floe_giop::type_code::{Member, TypeCode, TypeName, UnionCase, UnionType};

pub(crate) fn side() -> TypeCode {
    TypeCode::enumeration(TypeName::scoped("Market", "Side"), &["BUY", "SELL"])
}

pub(crate) fn tick() -> TypeCode {
    let venue = vec![
        Member::new("name", TypeCode::STRING),
        Member::new("fee", TypeCode::Double),
    ];
    let level = vec![
        Member::new("price", TypeCode::Double),
        Member::new("quantity", TypeCode::LongLong),
    ];
    let level = TypeCode::structure(TypeName::scoped("Market", "Level"), level);
    let levels = TypeCode::Alias {
        name: TypeName::scoped("Market", "Levels"),
        original: TypeCode::sequence(level).into(),
    };
    let members = vec![
        Member::new("instrument", TypeCode::STRING),
        Member::new("direction", side()),
        Member::new(
            "place",
            TypeCode::structure(TypeName::scoped("Market", "Venue"), venue),
        ),
        Member::new("depth", levels),
        Member::new("payload", TypeCode::sequence(TypeCode::Octet)),
        Member::new("live", TypeCode::Boolean),
        Member::new("at", TypeCode::LongLong),
        Member::new("price", TypeCode::Double),
        Member::new("note", TypeCode::WString(0)),
    ];
    TypeCode::structure(TypeName::scoped("Market", "Tick"), members)
}

pub(crate) fn tick_value(number: i64) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    let level =
        |price, quantity| Value::Struct(vec![Value::Double(price), Value::LongLong(quantity)]);
    Value::Struct(vec![
        text(&format!("Zürich €{number}")),
        Value::Enum(1),
        Value::Struct(vec![text("Börse"), Value::Double(0.25)]),
        Value::Sequence(vec![level(1.5, (1 << 40) + number), level(2.5, -number)]),
        Value::Octets(vec![0, 1, 255, number as u8]),
        Value::Boolean(number % 2 == 0),
        Value::LongLong(-(1 << 62) + number),
        Value::Double(number as f64 + 0.125),
        Value::WString(format!("🦀 Москва {number}")),
    ])
}

/// A tick as `peer.py` prints it.
pub(crate) fn tick_json(number: i64) -> serde_json::Value {
    serde_json::json!({
        "instrument": format!("Zürich €{number}"),
        "direction": "SELL",
        "place": ["Börse", 0.25],
        "depth": [[1.5, (1i64 << 40) + number], [2.5, -number]],
        "payload": [0, 1, 255, number as u8],
        "live": number % 2 == 0,
        "at": -(1i64 << 62) + number,
        "price": number as f64 + 0.125,
        "note": format!("🦀 Москва {number}"),
    })
}

pub(crate) fn order() -> TypeCode {
    let orders = TypeCode::Alias {
        name: TypeName::scoped("Market", "Orders"),
        original: TypeCode::sequence(TypeCode::Recursive(3)).into(),
    };
    let members = vec![
        Member::new("id", TypeCode::Short),
        Member::new("parts", orders),
    ];
    TypeCode::structure(TypeName::scoped("Market", "Order"), members)
}

pub(crate) fn order_value(id: i16, parts: Vec<Value>) -> Value {
    Value::Struct(vec![Value::Short(id), Value::Sequence(parts)])
}

pub(crate) fn change() -> TypeCode {
    let case = |label, name: &str, code: TypeCode| UnionCase {
        label,
        name: name.to_owned(),
        code: code.into(),
    };
    TypeCode::Union(Box::new(UnionType {
        name: TypeName::scoped("Market", "Change"),
        discriminator: side().into(),
        default: Some(1),
        cases: vec![
            case(0, "more", TypeCode::Long),
            case(0, "text", TypeCode::STRING),
        ],
    }))
}

pub(crate) fn change_value(discriminator: i128, member: Value) -> Value {
    let member = Some(member);
    Value::Union(Box::new(UnionValue {
        discriminator,
        member,
    }))
}
