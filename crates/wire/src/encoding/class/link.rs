//! Shared references to instances, and the links that hold them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::instance::{Held, Slot};
use super::promise::Promise;
use super::{AnyClass, Class, ClassType, Extends, UnknownSlice, compare};
use crate::encoding::{Decode, DecodeError, Decoder, Encode, Encoder};

/// A shared instance of class `T` or of one that extends it; it derefs to `T`.
///
/// Cloning it is cheap and shares the instance. It keeps the instance alive, and everything reachable from it.
pub struct Ref<T: ClassType + ?Sized> {
    held: Held,
    class: PhantomData<fn() -> Box<T>>,
}

impl<T: ClassType + ?Sized> Ref<T> {
    /// Shares an instance.
    ///
    /// # Panics
    /// If `U` claims to extend `T` but its chain of bases does not have it.
    pub fn new<U: Extends<T>>(value: U) -> Self {
        let held = Held::lone(Box::new(value), Vec::new());
        Self::checked(held).expect("a class that extends T has a base of type T")
    }

    /// Returns the instance as a `U`, if it is one: a derived class, a base, or the class itself.
    #[doc(alias = "downcast")]
    pub fn cast<U: ClassType + ?Sized>(&self) -> Option<Ref<U>> {
        Ref::checked(self.held.clone())
    }

    /// The instance, whatever its class.
    pub fn any(&self) -> &dyn AnyClass {
        &*self.held.instance().value
    }

    /// Slices of classes that this program does not know, which a peer sent with the instance, most derived first.
    pub fn unknown_slices(&self) -> &[UnknownSlice] {
        &self.held.instance().unknown
    }

    /// The identity of this instance.
    pub fn id(&self) -> InstanceId {
        InstanceId(self.held.address())
    }

    /// Returns true if both are the same instance.
    pub fn ptr_eq<U: ClassType + ?Sized>(&self, other: &Ref<U>) -> bool {
        self.id() == other.id()
    }

    fn checked(held: Held) -> Option<Self> {
        T::cast(&*held.instance().value)?;
        Some(Self {
            held,
            class: PhantomData,
        })
    }
}

impl<T: Class> Ref<T> {
    /// Returns the instance, typed as a class that `T` extends.
    #[must_use]
    pub fn upcast<U: ClassType + ?Sized>(&self) -> Ref<U>
    where
        T: Extends<U>,
    {
        Ref {
            held: self.held.clone(),
            class: PhantomData,
        }
    }

    /// The instance, mutable, if its class is `T` itself and nothing else refers to it. An instance of a cycle, or of a
    /// built [`Graph`](super::Graph), cannot be changed.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let instance = self.held.instance_mut()?;
        (&mut *instance.value as &mut dyn std::any::Any).downcast_mut()
    }
}

impl<T: ClassType + ?Sized> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        T::cast(self.any()).expect("a Ref is only made of an instance of its class")
    }
}

impl<T: ClassType + ?Sized> Clone for Ref<T> {
    fn clone(&self) -> Self {
        Self {
            held: self.held.clone(),
            class: PhantomData,
        }
    }
}

impl<T: ClassType + ?Sized> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        compare::print(&self.held, f)
    }
}

/// Equal if everything reachable from both is equal. Sharing makes no difference.
impl<T: ClassType + ?Sized, U: ClassType + ?Sized> PartialEq<Ref<U>> for Ref<T> {
    fn eq(&self, other: &Ref<U>) -> bool {
        compare::equal(&self.held, &other.held)
    }
}

/// The identity of an instance: equal for all links to the same one, as long as the instance lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstanceId(usize);

/// A member, element or parameter of a class type: nil, or a link to an instance.
///
/// A link that you hold keeps its instance alive, and everything reachable from it, cycles included. Cycles do not
/// leak, because links between the instances of a cycle do not count. Build one with a [`Graph`](super::Graph).
///
/// ```
/// use floe_wire::encoding::{AnyClass, Link};
///
/// let nothing: Link<dyn AnyClass> = Link::nil();
/// assert!(nothing.get().is_none());
/// ```
pub struct Link<T: ClassType + ?Sized> {
    target: LinkTarget,
    class: PhantomData<fn() -> Box<T>>,
}

pub(super) enum LinkTarget {
    Nil,
    /// An instance that is not in the group, if any, of the link itself.
    Held(Held),
    /// An instance of the link's own group. The link does not keep it alive.
    Inside(Weak<Slot>),
    /// A promise from before the instance was complete.
    Promised(Arc<Promise>),
}

impl LinkTarget {
    /// The instance, if it is complete.
    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Self::Nil => None,
            Self::Held(held) => Some(held.clone()),
            Self::Inside(slot) => Held::of(slot.upgrade()?),
            Self::Promised(promise) => promise.held(),
        }
    }

    /// Returns the held instance, borrowed if the link holds it.
    pub(super) fn borrowed(&self) -> Option<Cow<'_, Held>> {
        match self {
            Self::Held(held) => Some(Cow::Borrowed(held)),
            _ => self.held().map(Cow::Owned),
        }
    }
}

/// A clone may be stored anywhere, so it holds its instance.
impl Clone for LinkTarget {
    fn clone(&self) -> Self {
        match (self, self.held()) {
            (_, Some(held)) => Self::Held(held),
            (Self::Inside(slot), None) => Self::Inside(Weak::clone(slot)),
            (Self::Promised(promise), None) => Self::Promised(promise.again()),
            (Self::Nil | Self::Held(_), None) => Self::Nil,
        }
    }
}

impl<T: ClassType + ?Sized> Link<T> {
    /// The nil link.
    pub const fn nil() -> Self {
        Self::new_in(LinkTarget::Nil)
    }

    /// A link to a new instance.
    pub fn new<U: Extends<T>>(value: U) -> Self {
        Ref::<T>::new(value).into()
    }

    /// A link that shares an instance.
    pub fn to<U: Extends<T>>(instance: &Ref<U>) -> Self {
        instance.upcast().into()
    }

    /// The instance; `None` for nil.
    ///
    /// It is also `None` until the [`Graph`](super::Graph) is finished, or the decoder's `finish_classes` has been
    /// called.
    pub fn get(&self) -> Option<Ref<T>> {
        Ref::checked(self.target.held()?)
    }

    /// The identity of the instance, also while it is incomplete; `None` for nil.
    pub fn id(&self) -> Option<InstanceId> {
        match &self.target {
            LinkTarget::Nil => None,
            LinkTarget::Held(held) => Some(InstanceId(held.address())),
            LinkTarget::Inside(slot) => Some(InstanceId(slot.as_ptr().addr())),
            LinkTarget::Promised(promise) => Some(InstanceId(promise.address())),
        }
    }

    /// Returns true if the link is nil.
    pub const fn is_nil(&self) -> bool {
        matches!(self.target, LinkTarget::Nil)
    }

    /// Returns the link with the type `U`; `None` if the instance is not a `U`. If the instance is not complete yet,
    /// its class is unknown, and [`Link::get`] checks it later.
    #[doc(alias = "downcast")]
    pub fn cast<U: ClassType + ?Sized>(&self) -> Option<Link<U>> {
        let target = self.target.clone();
        match &target {
            LinkTarget::Held(held) if U::cast(&*held.instance().value).is_none() => None,
            _ => Some(Link::new_in(target)),
        }
    }

    pub(super) const fn new_in(target: LinkTarget) -> Self {
        Self {
            target,
            class: PhantomData,
        }
    }

    pub(super) fn target(&self) -> &LinkTarget {
        &self.target
    }
}

impl<T: Class> Link<T> {
    /// Returns the link, typed as a class that `T` extends.
    #[must_use]
    pub fn upcast<U: ClassType + ?Sized>(&self) -> Link<U>
    where
        T: Extends<U>,
    {
        Link::new_in(self.target.clone())
    }
}

impl Link<dyn AnyClass> {
    /// A link to a new instance of a class that is not known when the program is compiled. `unknown` are the slices
    /// that a peer sent of classes that this program does not know, most derived first.
    pub fn any(value: Box<dyn AnyClass>, unknown: Vec<UnknownSlice>) -> Self {
        Self::new_in(LinkTarget::Held(Held::lone(value, unknown)))
    }
}

impl<T: ClassType + ?Sized> Default for Link<T> {
    fn default() -> Self {
        Self::nil()
    }
}

impl<T: ClassType + ?Sized> Clone for Link<T> {
    fn clone(&self) -> Self {
        Self::new_in(self.target.clone())
    }
}

impl<T: ClassType + ?Sized> From<Ref<T>> for Link<T> {
    fn from(instance: Ref<T>) -> Self {
        Self::new_in(LinkTarget::Held(instance.held))
    }
}

/// Prints each instance once, so that printing ends.
impl<T: ClassType + ?Sized> fmt::Debug for Link<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target.held() {
            Some(held) => compare::print(&held, f),
            None if self.is_nil() => f.write_str("nil"),
            None => f.write_str("(incomplete)"),
        }
    }
}

/// Compares like [`Ref`]. Links to incomplete instances are equal to one another.
impl<T: ClassType + ?Sized, U: ClassType + ?Sized> PartialEq<Link<U>> for Link<T> {
    fn eq(&self, other: &Link<U>) -> bool {
        match (self.target.held(), other.target.held()) {
            (Some(one), Some(other)) => compare::equal(&one, &other),
            (None, None) => self.id() == other.id(),
            _ => false,
        }
    }
}

impl<T: ClassType + ?Sized> Encode for Link<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.class_reference(&self.target);
    }
}

impl<T: ClassType + ?Sized> Decode for Link<T> {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.class_reference::<T>().map(Self::new_in)
    }
}
