//! Numbers in JSON, and what else stands for a built-in type.

use floe_slice::model::Primitive;
use serde_json::{Number, Value as Json};

use crate::{Layout, Shape, Value};

/// Reads a number; `None` if it is none, or out of range.
pub(super) fn read(primitive: Primitive, json: &Json) -> Option<Value> {
    match primitive {
        Primitive::Float => float(json),
        Primitive::Double => double(json).map(Value::Double),
        // JSON tools that keep numbers as doubles write a long as text.
        Primitive::Long if json.is_string() => json.as_str()?.parse().ok().map(Value::Long),
        primitive => of_integer(primitive, integer(json)?),
    }
}

/// Reads a byte.
pub(super) fn byte(json: &Json) -> Option<u8> {
    integer(json).and_then(|value| u8::try_from(value).ok())
}

/// The JSON that the text of a dictionary's key stands for.
pub(super) fn key_json(layout: &Layout, text: &str) -> Json {
    let parsed = match layout.shape() {
        Shape::Primitive(Primitive::Bool) => text.parse().ok().map(Json::Bool),
        Shape::Primitive(Primitive::String) => None,
        Shape::Primitive(_) => text.parse::<i64>().ok().map(Json::from),
        _ => None,
    };
    parsed.unwrap_or_else(|| Json::from(text))
}

fn of_integer(primitive: Primitive, value: i64) -> Option<Value> {
    match primitive {
        Primitive::Byte => value.try_into().ok().map(Value::Byte),
        Primitive::Short => value.try_into().ok().map(Value::Short),
        Primitive::Int => value.try_into().ok().map(Value::Int),
        Primitive::Long => Some(Value::Long(value)),
        _ => None,
    }
}

/// An integer; `5.0` is one too, as JSON makes no difference.
fn integer(json: &Json) -> Option<i64> {
    /// Below this number a double stands for one integer alone.
    const INEXACT_FROM: f64 = 9_007_199_254_740_992.0;
    json.as_i64().or_else(|| {
        let value = json.as_f64()?;
        let is_integer = value.fract() == 0.0 && value.abs() < INEXACT_FROM;
        is_integer.then_some(value as i64)
    })
}

fn float(json: &Json) -> Option<Value> {
    let value = double(json)?;
    let rounded = value as f32;
    (rounded.is_finite() || !value.is_finite()).then_some(Value::Float(rounded))
}

fn double(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => Number::as_f64(number),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            "-0.0" => Some(-0.0),
            _ => None,
        },
        _ => None,
    }
}
