//! Constants, and values of any kind as expressions.

use floe_slice::model::{Const, ConstValue, Definition, DefinitionKind, Primitive, Type};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::docs::{deprecated, named};
use super::enums::variant_ident;
use super::scope::{Scope, spelled};
use crate::names;

/// `pub const MAX: i32 = 5;`
pub(super) fn constant(scope: &Scope<'_>, definition: &Definition, value: &Const) -> TokenStream {
    let docs = named(
        definition.doc.as_deref(),
        "constant",
        &definition.name,
        &definition.metadata,
    );
    let deprecated = deprecated(&definition.metadata);
    let name = const_ident(definition);
    let r#type = match value.r#type {
        Type::Primitive(Primitive::String) => quote!(&str),
        other => scope.owned(other),
    };
    let value = expression(scope, value.r#type, &value.value);
    quote!(#docs #deprecated pub const #name: #r#type = #value;)
}

/// The identifier of a constant.
pub(super) fn const_ident(definition: &Definition) -> Ident {
    names::ident(&spelled(
        &definition.name,
        &definition.metadata,
        names::screaming_snake,
    ))
}

/// A value as a constant expression; strings are `&'static str`.
pub(super) fn expression(scope: &Scope<'_>, r#type: Type, value: &ConstValue) -> TokenStream {
    match value {
        ConstValue::Bool(value) => quote!(#value),
        ConstValue::Integer(value) if is_float(r#type) => float(r#type, *value as f64),
        ConstValue::Integer(value) => integer(*value),
        ConstValue::Float(value) => float(r#type, *value),
        ConstValue::String(text) => quote!(#text),
        ConstValue::Enumerator { of, index } => {
            let path = scope.path(*of, "");
            let DefinitionKind::Enum(definition) = &scope.model.definition(*of).kind else {
                unreachable!("an enumerator belongs to an enumeration");
            };
            let variant = variant_ident(&definition.enumerators[*index]);
            quote!(#path::#variant)
        }
    }
}

/// An integer; the sign is an operator in Rust.
pub(super) fn integer(value: i64) -> TokenStream {
    let magnitude = Literal::u64_unsuffixed(value.unsigned_abs());
    if value < 0 {
        quote!(-#magnitude)
    } else {
        quote!(#magnitude)
    }
}

/// The shortest text of a number, with an exponent where zeros would fill the line.
fn decimal(text: &str) -> TokenStream {
    let literal: Literal = text.parse().expect("Rust reads the numbers that it writes");
    quote!(#literal)
}

fn is_float(r#type: Type) -> bool {
    matches!(
        r#type,
        Type::Primitive(Primitive::Float | Primitive::Double)
    )
}

fn float(r#type: Type, value: f64) -> TokenStream {
    let is_single = matches!(r#type, Type::Primitive(Primitive::Float));
    let kind = if is_single { quote!(f32) } else { quote!(f64) };
    if value.is_nan() {
        return quote!(#kind::NAN);
    }
    let magnitude = match value.abs() {
        f64::INFINITY => quote!(#kind::INFINITY),
        finite if is_single => decimal(&format!("{:?}", finite as f32)),
        finite => decimal(&format!("{finite:?}")),
    };
    if value.is_sign_negative() {
        quote!(-#magnitude)
    } else {
        magnitude
    }
}
