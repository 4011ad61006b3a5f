//! Typed proxies: their traits, and how their methods call.

use floe_wire::encoding::{
    ClassFormat, Decode, DecodeError, Decoder, Encode, Encoder, Nilable, Tagged,
};
use floe_wire::message::OperationMode;

use crate::call::{Call, Parameters};
use crate::error::OperationError;
use crate::proxy::{OperationInfo, Proxy};

/// Describes an operation; `returns_data` says whether there is a return value or an out-parameter.
pub const fn operation(name: &'static str, returns_data: bool) -> OperationInfo {
    OperationInfo::new(name, OperationMode::Normal, returns_data)
}

/// Describes an idempotent operation.
pub const fn idempotent(name: &'static str, returns_data: bool) -> OperationInfo {
    OperationInfo::new(name, OperationMode::Idempotent, returns_data)
}

/// Describes an operation that is declared `["nonmutating"]`.
pub const fn nonmutating(name: &'static str, returns_data: bool) -> OperationInfo {
    OperationInfo::new(name, OperationMode::Nonmutating, returns_data)
}

/// Calls an operation with these parameters; `decode` reads the results.
#[inline]
pub fn call<'call, R, E: OperationError, P: Parameters + 'call>(
    proxy: &'call Proxy,
    operation: &'static OperationInfo,
    parameters: P,
    decode: fn(&mut Decoder<'_>) -> Result<R, DecodeError>,
) -> Call<'call, R, E, P> {
    Call::new(proxy, operation, parameters, decode)
}

/// Decodes an empty result.
///
/// # Errors
/// See [`Decoder::nothing`].
#[inline]
pub fn nothing(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    decoder.nothing()
}

/// Decodes one result.
///
/// # Errors
/// An error of the type's decoding.
#[inline]
pub fn one<T: Decode>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
    decoder.get()
}

/// Decodes several values, in the order of the wire.
///
/// # Errors
/// An error of a type's decoding.
#[inline]
pub fn all<T: Values>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
    T::decode(decoder)
}

/// Several values as a tuple, in the order of the wire.
pub trait Values: Sized {
    /// Decodes them one after another.
    ///
    /// # Errors
    /// An error of a type's decoding.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError>;
}

macro_rules! parameters {
    ($($name:ident $index:tt)*) => {
        impl<$($name: Encode + Send + Sync),*> Parameters for ($($name,)*) {
            #[inline]
            fn encode(&self, _encoder: &mut Encoder<'_>) {
                $(_encoder.put(&self.$index);)*
            }
        }

        impl<$($name: Decode),*> Values for ($($name,)*) {
            #[inline]
            fn decode(_decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Ok(($(_decoder.get::<$name>()?,)*))
            }
        }
    };
}

parameters!();
parameters!(A 0);
parameters!(A 0 B 1);
parameters!(A 0 B 1 C 2);
parameters!(A 0 B 1 C 2 D 3);
parameters!(A 0 B 1 C 2 D 3 E 4);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);

/// Parameters of an operation that has more than a tuple holds.
#[derive(Debug)]
pub struct Joined<First, Rest>(pub First, pub Rest);

impl<First: Parameters, Rest: Parameters> Parameters for Joined<First, Rest> {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
        self.1.encode(encoder);
    }
}

/// Parameters with class instances among them.
#[derive(Debug)]
pub struct WithInstances<P> {
    /// The parameters.
    pub parameters: P,
    /// True if instances are sent with the sizes of their slices.
    pub is_sliced: bool,
    /// True if there are instances in parameters that are not optional. Encoding 1.0 has them behind the parameters.
    pub has_required: bool,
}

impl<P: Parameters> Parameters for WithInstances<P> {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        if self.is_sliced {
            encoder.set_class_format(ClassFormat::Sliced);
        }
        self.parameters.encode(encoder);
        if self.has_required {
            encoder.finish_classes();
        }
    }
}

/// A proxy as a parameter; it may be nil.
#[derive(Debug)]
pub struct NilableParameter<'a, P>(pub Option<&'a P>);

impl<P: Nilable> Encode for NilableParameter<'_, P> {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        P::encode_nilable(self.0, encoder);
    }
}

/// An optional parameter with its tag; it may be unset.
#[derive(Debug)]
pub struct Optional<T>(pub u32, pub Option<T>);

impl<T: Tagged> Encode for Optional<T> {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.tagged(self.0, self.1.as_ref());
    }
}

/// An optional proxy as a parameter with its tag; it may be unset or nil.
#[derive(Debug)]
pub struct OptionalProxy<'a, P>(pub u32, pub Option<Option<&'a P>>);

impl<P: Nilable> Encode for OptionalProxy<'_, P> {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.tagged_proxy(self.0, self.1);
    }
}

/// Makes a struct around a [`Proxy`] a typed proxy, with a conversion to each base.
#[doc(hidden)]
#[macro_export]
macro_rules! __proxy {
    ($name:ident = $type_id:literal $(, $base:path)* $(,)?) => {
        impl $crate::TypedProxy for $name {
            const TYPE_ID: &'static str = $type_id;

            fn from_proxy(proxy: $crate::Proxy) -> Self {
                Self(proxy)
            }

            fn as_proxy(&self) -> &$crate::Proxy {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl $crate::codegen::Nilable for $name {
            const NIL_WIRE_LEN: usize = <$crate::Proxy as $crate::codegen::Nilable>::NIL_WIRE_LEN;

            fn encode_nilable(
                value: ::std::option::Option<&Self>,
                encoder: &mut $crate::encoding::Encoder<'_>,
            ) {
                $crate::codegen::Nilable::encode_nilable(value.map(|proxy| &proxy.0), encoder);
            }

            fn decode_nilable(
                decoder: &mut $crate::encoding::Decoder<'_>,
            ) -> ::std::result::Result<::std::option::Option<Self>, $crate::DecodeError> {
                let proxy = <$crate::Proxy as $crate::codegen::Nilable>::decode_nilable(decoder)?;
                Ok(proxy.map(Self))
            }
        }

        impl $crate::encoding::Encode for $name {
            fn encode(&self, encoder: &mut $crate::encoding::Encoder<'_>) {
                $crate::encoding::Encode::encode(&self.0, encoder);
            }
        }

        impl $crate::encoding::Decode for $name {
            const MIN_WIRE_LEN: usize = <$crate::Proxy as $crate::encoding::Decode>::MIN_WIRE_LEN;

            fn decode(
                decoder: &mut $crate::encoding::Decoder<'_>,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                $crate::encoding::Decode::decode(decoder).map(Self)
            }
        }

        impl ::std::convert::From<$name> for $crate::Proxy {
            fn from(proxy: $name) -> Self {
                proxy.0
            }
        }

        $(
            impl ::std::convert::From<$name> for $base {
                fn from(proxy: $name) -> Self {
                    <Self as $crate::TypedProxy>::from_proxy(proxy.0)
                }
            }
        )*
    };
}
