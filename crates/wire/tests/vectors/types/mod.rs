//! The Slice types of the vectors as Rust, in the shape that generated code has.
//!
//! The macros write out what a code generator would; the members of a class stand as fields beside
//! `base`, so that an instance is built and read plainly.

mod graph;
mod sliced;
mod values;

pub(crate) use graph::{Build, Graph};
pub(crate) use sliced::*;
pub(crate) use values::*;

/// A class: its members, then after `;` the tagged ones with their tags.
macro_rules! class {
    (
        $type_id:literal $(($compact_id:literal))? in $table:ident,
        $name:ident $(: $base:ident $(, $ancestor:ident)*)?
        { $($member:ident: $type:ty),* $(; $($tag:literal $tagged:ident: $tagged_type:ty),*)? }
    ) => {
        #[derive(Debug, Clone, PartialEq, Default)]
        pub(crate) struct $name {
            $(pub(crate) base: $base,)?
            $(pub(crate) $member: $type,)*
            $($(pub(crate) $tagged: Option<$tagged_type>,)*)?
        }

        impl floe_wire::encoding::Class for $name {
            const TYPE_ID: &'static str = $type_id;
            $(const COMPACT_ID: Option<i32> = Some($compact_id);)?

            fn classes() -> &'static dyn floe_wire::encoding::Classes {
                &$table
            }

            $(fn base(&self) -> Option<&dyn floe_wire::encoding::AnyClass> {
                let base: &$base = &self.base;
                Some(base)
            })?

            #[allow(unused_variables)]
            fn encode_members(&self, encoder: &mut floe_wire::Encoder<'_>) {
                $(encoder.put(&self.$member);)*
                $($(encoder.tagged($tag, self.$tagged.as_ref());)*)?
            }

            #[allow(unused_variables, clippy::let_unit_value)]
            fn decode_slices(
                reader: &mut floe_wire::encoding::ClassReader<'_, '_>,
            ) -> Result<Self, floe_wire::DecodeError> {
                let ($($member,)* $($($tagged,)*)?) = reader.slice($type_id, |decoder| {
                    Ok(($(decoder.get::<$type>()?,)* $($(decoder.tagged($tag)?,)*)?))
                })?;
                Ok(Self {
                    $(base: $base::decode_slices(reader)?,)?
                    $($member,)*
                    $($($tagged,)*)?
                })
            }
        }

        $(
            impl std::ops::Deref for $name {
                type Target = $base;

                fn deref(&self) -> &$base {
                    &self.base
                }
            }

            impl floe_wire::encoding::Extends<$base> for $name {}
            $(impl floe_wire::encoding::Extends<$ancestor> for $name {})*
        )?

        impl $crate::types::Build for $name {
            #[allow(unused_variables)]
            fn build(json: &serde_json::Value, graph: &mut $crate::types::Graph) -> Self {
                Self {
                    $(base: $base::build(json, graph),)?
                    $($member: $crate::types::Build::build(&json[stringify!($member)], graph),)*
                    $($($tagged: graph.tagged(&json[stringify!($tagged)]),)*)?
                }
            }
        }
    };
}
pub(crate) use class;

/// A structure.
macro_rules! structure {
    ($name:ident { $($member:ident: $type:ty),* }) => {
        #[derive(Debug, Clone, PartialEq, Default)]
        pub(crate) struct $name {
            $(pub(crate) $member: $type,)*
        }

        impl floe_wire::Encode for $name {
            fn encode(&self, encoder: &mut floe_wire::Encoder<'_>) {
                $(encoder.put(&self.$member);)*
            }
        }

        impl floe_wire::Decode for $name {
            const MIN_WIRE_LEN: usize = 0 $(+ <$type as floe_wire::Decode>::MIN_WIRE_LEN)*;

            fn decode(
                decoder: &mut floe_wire::Decoder<'_>,
            ) -> Result<Self, floe_wire::DecodeError> {
                Ok(Self { $($member: decoder.get()?,)* })
            }
        }

        impl floe_wire::encoding::Tagged for $name {
            const FIXED_LEN: Option<usize> = {
                let len = Some(0);
                $(let len = floe_wire::encoding::TagFormat::sum(
                    len,
                    <$type as floe_wire::encoding::Tagged>::FIXED_LEN,
                );)*
                len
            };
            const FORMAT: floe_wire::encoding::TagFormat =
                floe_wire::encoding::TagFormat::of_parts(Self::FIXED_LEN);
        }

        impl $crate::types::Build for $name {
            fn build(json: &serde_json::Value, graph: &mut $crate::types::Graph) -> Self {
                Self {
                    $($member: $crate::types::Build::build(&json[stringify!($member)], graph),)*
                }
            }
        }
    };
}
pub(crate) use structure;

/// An enumeration.
macro_rules! enumeration {
    ($name:ident { $first:ident = $first_value:literal $(, $other:ident = $value:literal)* } max $max:literal) => {
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub(crate) enum $name {
            #[default]
            $first = $first_value,
            $($other = $value,)*
        }

        impl floe_wire::Encode for $name {
            fn encode(&self, encoder: &mut floe_wire::Encoder<'_>) {
                floe_wire::encoding::EnumWidth::for_max($max).encode(*self as i32, encoder);
            }
        }

        impl floe_wire::Decode for $name {
            const MIN_WIRE_LEN: usize = 1;

            fn decode(
                decoder: &mut floe_wire::Decoder<'_>,
            ) -> Result<Self, floe_wire::DecodeError> {
                let width = floe_wire::encoding::EnumWidth::for_max($max);
                match width.decode(decoder, stringify!($name))? {
                    $first_value => Ok(Self::$first),
                    $($value => Ok(Self::$other),)*
                    value => {
                        let kind = floe_wire::DecodeErrorKind::UnknownEnumerator(value);
                        Err(decoder.error(stringify!($name), kind))
                    }
                }
            }
        }

        impl floe_wire::encoding::Tagged for $name {
            const FORMAT: floe_wire::encoding::TagFormat = floe_wire::encoding::TagFormat::Size;
        }

        impl $crate::types::Build for $name {
            fn build(json: &serde_json::Value, _: &mut $crate::types::Graph) -> Self {
                match json["value"].as_i64() {
                    Some($first_value) => Self::$first,
                    $(Some($value) => Self::$other,)*
                    _ => panic!("{json} is no {}", stringify!($name)),
                }
            }
        }
    };
}
pub(crate) use enumeration;
