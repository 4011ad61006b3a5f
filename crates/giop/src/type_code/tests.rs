//! TypeCodes: round trips, indirections as other ORBs write them, and hostile bytes.

use std::sync::Arc;

use super::*;
use crate::cdr::{DecodeError, DecodeErrorKind, Decoder, Encoder, Endian, Format};

fn format() -> Format {
    Format::utf8(Endian::Big)
}

fn encoded(code: &TypeCode) -> Vec<u8> {
    let mut encoder = Encoder::new(format());
    code.encode(&mut encoder).expect("it is one");
    encoder.into_bytes()
}

fn decoded(bytes: &[u8]) -> Result<Arc<TypeCode>, DecodeError> {
    TypeCode::decode(&mut Decoder::new(bytes, format()))
}

fn kind_of_error(bytes: &[u8]) -> DecodeErrorKind {
    decoded(bytes).expect_err("it is hostile").kind
}

/// Big-endian words, for bytes that no encoder writes.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A type with parameters: a kind and an encapsulation.
fn complex(kind: u32, contents: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut encoder = Encoder::new(format());
    encoder.ulong(kind);
    let written = encoder.encapsulation(|encoder| {
        contents(encoder);
        Ok::<_, crate::cdr::EncodeError>(())
    });
    written.expect("it is short");
    encoder.into_bytes()
}

fn node() -> TypeCode {
    let members = vec![
        Member::new("id", TypeCode::Short),
        Member::new("next", TypeCode::sequence(TypeCode::Recursive(2))),
    ];
    TypeCode::structure(TypeName::scoped("M", "Node"), members)
}

#[test]
fn a_type_that_contains_itself_survives_a_round_trip() {
    assert_eq!(*decoded(&encoded(&node())).expect("it is one"), node());
}

#[test]
fn an_indirection_to_a_finished_type_is_that_type() {
    // struct S { E a; E b; } where b's type is an indirection to a's.
    let bytes = complex(15, |encoder| {
        encoder.name("IDL:S:1.0").expect("short");
        encoder.name("S").expect("short");
        encoder.ulong(2);
        encoder.name("a").expect("short");
        encoder.align(4);
        let first = encoder.len();
        encoder.ulong(18);
        encoder.ulong(0);
        encoder.name("b").expect("short");
        encoder.align(4);
        encoder.ulong(0xffff_ffff);
        encoder.long(first as i32 - encoder.len() as i32);
    });
    let expected = TypeCode::structure(
        TypeName {
            id: "IDL:S:1.0".to_owned(),
            name: "S".to_owned(),
        },
        vec![
            Member::new("a", TypeCode::STRING),
            Member::new("b", TypeCode::STRING),
        ],
    );
    assert_eq!(*decoded(&bytes).expect("it is one"), expected);
}

#[test]
fn an_indirection_into_a_recursive_type_is_unrolled() {
    // struct Outer { Node a; sequence<Node> b; } where b's type is an indirection to the one of Node's own member.
    let bytes = complex(15, |outer| {
        outer.name("").expect("short");
        outer.name("Outer").expect("short");
        outer.ulong(2);
        outer.name("a").expect("short");
        outer.align(4);
        let node = outer.len();
        let mut inner = 0;
        outer.ulong(15);
        let written = outer.encapsulation(|encoder| {
            encoder.name("").expect("short");
            encoder.name("Node").expect("short");
            encoder.ulong(1);
            encoder.name("next").expect("short");
            encoder.align(4);
            inner = encoder.len();
            encoder.ulong(19);
            encoder.encapsulation(|encoder| {
                encoder.align(4);
                encoder.ulong(0xffff_ffff);
                encoder.long(node as i32 - encoder.len() as i32);
                encoder.ulong(0);
                Ok::<_, crate::cdr::EncodeError>(())
            })
        });
        written.expect("it is short");
        outer.name("b").expect("short");
        outer.align(4);
        outer.ulong(0xffff_ffff);
        outer.long(inner as i32 - outer.len() as i32);
    });
    let code = decoded(&bytes).expect("it is one");
    let TypeCode::Struct(outer) = &*code else {
        panic!("{code:?}")
    };
    let TypeCode::Sequence { element, .. } = &*outer.members[1].code else {
        panic!("{code:?}")
    };
    assert_eq!(element.name().map(|name| &*name.name), Some("Node"));
    // It holds itself and leads to nothing outside, so it can be encoded by itself.
    assert_eq!(
        *decoded(&encoded(&outer.members[1].code)).expect("it is one"),
        *outer.members[1].code
    );
}

#[test]
fn hostile_indirections_are_refused() {
    for offset in [0, 4, -3, -4, -8, 8, 1000, -1000, i32::MAX, i32::MIN] {
        let bytes = words(&[0xffff_ffff, offset as u32]);
        assert_eq!(
            kind_of_error(&bytes),
            DecodeErrorKind::BadIndirection(offset)
        );
    }
    // An alias of itself, and a sequence of itself without a struct.
    for kind in [21, 19] {
        let bytes = complex(kind, |encoder| {
            if kind == 21 {
                encoder.name("").expect("short");
                encoder.name("").expect("short");
            }
            encoder.align(4);
            encoder.ulong(0xffff_ffff);
            encoder.long(-(encoder.len() as i32));
            encoder.ulong(0);
        });
        assert!(matches!(
            kind_of_error(&bytes),
            DecodeErrorKind::InvalidType(_)
        ));
    }
}

#[test]
fn deep_nesting_is_refused_before_the_stack_is_used_up() {
    let mut bytes = words(&[3]);
    for _ in 0..10_000 {
        bytes = complex(19, |encoder| {
            encoder.align(4);
            encoder.octets(&bytes);
            encoder.ulong(0);
        });
    }
    assert_eq!(
        kind_of_error(&bytes),
        DecodeErrorKind::TooDeep(TYPE_CODE_DEPTH_MAX)
    );
}

#[test]
fn a_type_that_doubles_at_each_level_is_refused_by_its_weight() {
    // Each struct has two members of the one before: the second is an indirection.
    fn double(encoder: &mut Encoder, levels: usize) {
        encoder.align(4);
        if levels == 0 {
            return encoder.ulong(3);
        }
        encoder.ulong(15);
        let written = encoder.encapsulation(|encoder| {
            encoder.name("").expect("short");
            encoder.name("").expect("short");
            encoder.ulong(2);
            encoder.name("").expect("short");
            encoder.align(4);
            let first = encoder.len();
            double(encoder, levels - 1);
            encoder.name("").expect("short");
            encoder.align(4);
            encoder.ulong(0xffff_ffff);
            encoder.long(first as i32 - encoder.len() as i32);
            Ok::<_, crate::cdr::EncodeError>(())
        });
        written.expect("it is short");
    }
    let mut encoder = Encoder::new(format());
    double(&mut encoder, 8);
    decoded(&encoder.into_bytes()).expect("256 members are fine");
    let mut encoder = Encoder::new(format());
    double(&mut encoder, 40);
    assert!(matches!(
        kind_of_error(&encoder.into_bytes()),
        DecodeErrorKind::TooLong { .. }
    ));
}

#[test]
fn lengths_of_four_billion_are_refused_without_allocating() {
    let four_billion = u32::MAX;
    for bytes in [
        words(&[15, four_billion]),
        words(&[15, 8, 0, four_billion]),
        complex(17, |encoder| {
            encoder.name("").expect("short");
            encoder.name("").expect("short");
            encoder.ulong(four_billion);
        }),
        complex(15, |encoder| {
            encoder.name("").expect("short");
            encoder.name("").expect("short");
            encoder.ulong(four_billion);
        }),
        complex(16, |encoder| {
            encoder.name("").expect("short");
            encoder.name("").expect("short");
            encoder.ulong(3);
            encoder.long(-1);
            encoder.ulong(four_billion);
        }),
    ] {
        decoded(&bytes).expect_err("it is hostile");
    }
}

#[test]
fn types_that_idl_does_not_have_are_refused() {
    let float_union = complex(16, |encoder| {
        encoder.name("").expect("short");
        encoder.name("").expect("short");
        encoder.ulong(6);
        encoder.long(-1);
        encoder.ulong(0);
    });
    assert!(matches!(
        kind_of_error(&float_union),
        DecodeErrorKind::InvalidType(_)
    ));
    assert_eq!(
        kind_of_error(&words(&[37])),
        DecodeErrorKind::InvalidValue(37)
    );
    assert!(matches!(
        kind_of_error(&words(&[28, 0])),
        DecodeErrorKind::InvalidType(_)
    ));
    let no_nul = words(&[15, 12, 0, 0, 0]);
    assert_eq!(kind_of_error(&no_nul), DecodeErrorKind::NoNul);
}

#[test]
fn a_recursion_out_of_the_type_is_not_encoded() {
    let mut encoder = Encoder::new(format());
    let code = TypeCode::sequence(TypeCode::Recursive(2));
    assert!(code.encode(&mut encoder).is_err());
}

#[test]
fn types_that_indirections_nest_are_as_deep_as_others_may_be() {
    // struct { sequence^40 a; sequence^40 b; } where b's innermost type is an indirection to a's outermost.
    fn nested(encoder: &mut Encoder, levels: usize, innermost: usize) {
        encoder.align(4);
        if levels == 0 && innermost == 0 {
            return encoder.ulong(3);
        }
        if levels == 0 {
            encoder.ulong(0xffff_ffff);
            return encoder.long(innermost as i32 - encoder.len() as i32);
        }
        encoder.ulong(19);
        let written = encoder.encapsulation(|encoder| {
            nested(encoder, levels - 1, innermost);
            encoder.ulong(0);
            Ok::<_, crate::cdr::EncodeError>(())
        });
        written.expect("it is short");
    }
    let with = |levels| {
        complex(15, |encoder| {
            encoder.name("").expect("short");
            encoder.name("").expect("short");
            encoder.ulong(2);
            encoder.name("a").expect("short");
            encoder.align(4);
            let first = encoder.len();
            nested(encoder, levels, 0);
            encoder.name("b").expect("short");
            nested(encoder, levels, first);
        })
    };
    let code = decoded(&with(31)).expect("the limit is not reached");
    assert_eq!(decoded(&encoded(&code)), Ok(code));
    assert_eq!(
        kind_of_error(&with(32)),
        DecodeErrorKind::TooDeep(TYPE_CODE_DEPTH_MAX)
    );
}
