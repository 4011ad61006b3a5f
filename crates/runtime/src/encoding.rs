//! How values become bytes: encoders and decoders, encapsulations, tagged values, and values that are read in place.

pub use floe_wire::encoding::{
    ClassFormat, Decode, DecodeErrorKind, Decoder, Encapsulation, Encode, Encoder, ExceptionFormat,
    ExceptionReader, ExceptionWriter, Packed, ProtocolVersion, SliceId, TagFormat, Tagged, View,
};
