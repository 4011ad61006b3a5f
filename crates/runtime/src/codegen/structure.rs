//! Structures: members one after another.

use floe_wire::encoding::Decode;

/// The [`Decode::MIN_WIRE_LEN`] of the member that a function returns.
pub const fn min_wire_len<S, M: Decode>(_member: fn(&S) -> &M) -> usize {
    M::MIN_WIRE_LEN
}

/// The [`Decode::PACKED_LEN`] of the member that a function returns.
pub const fn packed_member_len<S, M: Decode>(_member: fn(&S) -> &M) -> Option<usize> {
    M::PACKED_LEN
}

/// Gives a struct the defaults of the contract: the values of those members that have one.
#[doc(hidden)]
#[macro_export]
macro_rules! __defaults {
    ($name:ident { $($member:ident $(= $value:expr)?),* $(,)? }) => {
        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self { $($member: $crate::__defaults!(@value $($value)?)),* }
            }
        }
    };
    (@value) => { ::std::default::Default::default() };
    (@value $value:expr) => { $value };
}

/// Makes a structure with these members, in the order of the contract, encodable.
#[doc(hidden)]
#[macro_export]
macro_rules! __structure {
    ($name:ident { $($member:ident),* $(,)? }) => {
        impl $crate::encoding::Encode for $name {
            #[inline]
            fn encode(&self, encoder: &mut $crate::encoding::Encoder<'_>) {
                $(encoder.put(&self.$member);)*
            }
        }

        impl $crate::encoding::Decode for $name {
            const MIN_WIRE_LEN: usize =
                0 $(+ $crate::codegen::min_wire_len(|it: &Self| &it.$member))*;
            const PACKED_LEN: ::std::option::Option<usize> = $crate::codegen::packed_len(&[
                $($crate::codegen::packed_member_len(|it: &Self| &it.$member)),*
            ]);

            #[inline]
            fn decode(
                decoder: &mut $crate::encoding::Decoder<'_>,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                Ok(Self { $($member: decoder.get()?,)* })
            }

            fn decode_into(
                &mut self,
                decoder: &mut $crate::encoding::Decoder<'_>,
            ) -> ::std::result::Result<(), $crate::DecodeError> {
                $(decoder.get_into(&mut self.$member)?;)*
                Ok(())
            }
        }

        impl $crate::encoding::Tagged for $name {
            const FORMAT: $crate::encoding::TagFormat = $crate::encoding::TagFormat::of_parts(Self::FIXED_LEN);
            const FIXED_LEN: ::std::option::Option<usize> = <Self as $crate::encoding::Decode>::PACKED_LEN;
        }
    };
}
