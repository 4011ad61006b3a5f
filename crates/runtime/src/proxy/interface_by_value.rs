//! Interfaces by value: what Ice 3.7 sends where a contract names an interface without `*`.

use std::fmt;
use std::marker::PhantomData;

use floe_wire::encoding::{
    Class, ClassFactory, ClassId, ClassInfo, ClassReader, Classes, DecodeError, Encoder,
};

use super::TypedProxy;

/// An instance with the type id of an interface and no members, for the interface whose proxy is `P`.
///
/// A Slice type that is an interface without `*` means an instance of any class, in Rust a
/// [`Link<dyn AnyClass>`](crate::classes::Link). Ice 3.7 has this one besides for a program that has no class to send: send
/// `Link::new(InterfaceByValue::<ShapeProxy>::default())`. To receive it, name its table:
///
/// ```
/// use floe::{InterfaceByValue, Settings, contracts::ice::ProcessProxy};
///
/// let mut settings = Settings::default();
/// settings.classes.push(InterfaceByValue::<ProcessProxy>::CLASSES);
/// ```
///
/// Ice 3.8 has no interfaces by value.
pub struct InterfaceByValue<P>(PhantomData<fn() -> P>);

impl<P: TypedProxy + 'static> InterfaceByValue<P> {
    /// The class table that a decoder needs to receive it, for [`Settings::classes`](crate::Settings::classes).
    pub const CLASSES: &'static dyn Classes = &OneInterface::<P>(PhantomData);

    const INFO: ClassInfo = ClassInfo::of::<Self>();
}

/// The table of one interface by value.
struct OneInterface<P>(PhantomData<fn() -> P>);

impl<P: TypedProxy + 'static> Classes for OneInterface<P> {
    fn find(&self, id: ClassId<'_>) -> Option<&dyn ClassFactory> {
        let is_own = matches!(id, ClassId::Name(type_id) if type_id == P::TYPE_ID);
        is_own.then_some(&InterfaceByValue::<P>::INFO as &dyn ClassFactory)
    }
}

// Source, for both encodings: observed, Ice 3.7.8 (`Ice.InterfaceByValue` of Python).
impl<P: TypedProxy + 'static> Class for InterfaceByValue<P> {
    const TYPE_ID: &'static str = P::TYPE_ID;

    fn classes() -> &'static dyn Classes {
        Self::CLASSES
    }

    fn encode_members(&self, _: &mut Encoder<'_>) {}

    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        reader.slice(P::TYPE_ID, |_| Ok(Self::default()))
    }
}

impl<P> Default for InterfaceByValue<P> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<P> Clone for InterfaceByValue<P> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<P> PartialEq for InterfaceByValue<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P: TypedProxy> fmt::Debug for InterfaceByValue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InterfaceByValue({})", P::TYPE_ID)
    }
}
