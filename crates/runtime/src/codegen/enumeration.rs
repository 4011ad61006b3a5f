//! Enumerations: numbers whose width depends on the largest one.

/// The largest of the values of an enumeration.
pub const fn enumerator_max(values: &[i32]) -> i32 {
    let (mut max, mut rest) = (0, values);
    while let [first, others @ ..] = rest {
        if *first > max {
            max = *first;
        }
        rest = others;
    }
    max
}

/// Gives an enumeration its wire values, and makes it encodable.
#[doc(hidden)]
#[macro_export]
macro_rules! __enumeration {
    ($name:ident = $type_id:literal { $($enumerator:ident),* $(,)? }) => {
        impl $name {
            /// The value of the enumerator on the wire.
            pub const fn value(self) -> i32 {
                self as i32
            }

            /// The enumerator with this value; `None` if there is none.
            pub const fn from_value(value: i32) -> ::std::option::Option<Self> {
                match value {
                    $(it if it == Self::$enumerator as i32 => Some(Self::$enumerator),)*
                    _ => None,
                }
            }
        }

        impl $crate::encoding::Encode for $name {
            fn encode(&self, encoder: &mut $crate::encoding::Encoder<'_>) {
                const MAX: i32 =
                    $crate::codegen::enumerator_max(&[$($name::$enumerator as i32),*]);
                $crate::codegen::EnumWidth::for_max(MAX).encode(self.value(), encoder);
            }
        }

        impl $crate::encoding::Decode for $name {
            const MIN_WIRE_LEN: usize = 1;

            fn decode(
                decoder: &mut $crate::encoding::Decoder<'_>,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                const MAX: i32 =
                    $crate::codegen::enumerator_max(&[$($name::$enumerator as i32),*]);
                let value = $crate::codegen::EnumWidth::for_max(MAX).decode(decoder, $type_id)?;
                Self::from_value(value).ok_or_else(|| {
                    let kind = $crate::encoding::DecodeErrorKind::UnknownEnumerator(value);
                    decoder.error($type_id, kind)
                })
            }
        }

        impl $crate::encoding::Tagged for $name {
            const FORMAT: $crate::encoding::TagFormat = $crate::encoding::TagFormat::Size;
        }
    };
}
