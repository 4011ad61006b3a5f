//! Shared references to instances, and the links that hold them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::instance::{Instance, Slot};
use super::{AnyClass, Class, ClassType, Extends, UnknownSlice, compare};
use crate::encoding::{Decode, DecodeError, Decoder, Encode, Encoder};

/// A shared instance of class `T` or of one that extends it; it derefs to `T`.
///
/// Cloning it is cheap and shares the instance.
pub struct Ref<T: ClassType + ?Sized> {
    slot: Arc<Slot>,
    class: PhantomData<fn() -> Box<T>>,
}

impl<T: ClassType + ?Sized> Ref<T> {
    /// Shares an instance.
    ///
    /// # Panics
    /// If `U` claims to extend `T` but its chain of bases does not have it.
    pub fn new<U: Extends<T>>(value: U) -> Self {
        let slot = Slot::empty();
        slot.fill(Box::new(value), Vec::new());
        Self::checked(Arc::new(slot)).expect("a class that extends T has a base of type T")
    }

    /// Shares an instance that is part of a cycle: `build` gets a link back to it.
    ///
    /// # Panics
    /// As [`Ref::new`].
    pub fn new_cyclic<U: Extends<T>>(build: impl FnOnce(&Link<T>) -> U) -> Self {
        let slot = Arc::new(Slot::empty());
        let back = Link::new_in(Target::Back(Arc::downgrade(&slot)));
        slot.fill(Box::new(build(&back)), Vec::new());
        Self::checked(slot).expect("a class that extends T has a base of type T")
    }

    /// The same instance as one of class `U`, if it is: a derived class, a base, or itself.
    #[doc(alias = "downcast")]
    pub fn cast<U: ClassType + ?Sized>(&self) -> Option<Ref<U>> {
        Ref::checked(Arc::clone(&self.slot))
    }

    /// The instance, whatever its class.
    pub fn any(&self) -> &dyn AnyClass {
        &*self.instance().value
    }

    /// What a peer sent of the instance that this program has no class for, most derived first.
    pub fn unknown_slices(&self) -> &[UnknownSlice] {
        &self.instance().unknown
    }

    /// What tells this instance from all others.
    pub fn id(&self) -> InstanceId {
        InstanceId(Arc::as_ptr(&self.slot) as usize)
    }

    /// Whether both are the same instance.
    pub fn ptr_eq<U: ClassType + ?Sized>(&self, other: &Ref<U>) -> bool {
        Arc::ptr_eq(&self.slot, &other.slot)
    }

    fn checked(slot: Arc<Slot>) -> Option<Self> {
        T::cast(&*slot.get()?.value)?;
        Some(Self {
            slot,
            class: PhantomData,
        })
    }

    fn instance(&self) -> &Instance {
        let instance = self.slot.get();
        instance.expect("a Ref is only made of a slot that is filled")
    }
}

impl<T: Class> Ref<T> {
    /// The instance to be changed, if its class is `T` itself and nothing else refers to it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let instance = Arc::get_mut(&mut self.slot)?.get_mut()?;
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
            slot: Arc::clone(&self.slot),
            class: PhantomData,
        }
    }
}

impl<T: ClassType + ?Sized> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        compare::print(&self.slot, f)
    }
}

/// Equal if all that is reached from them is; how it is shared makes no difference.
impl<T: ClassType + ?Sized, U: ClassType + ?Sized> PartialEq<Ref<U>> for Ref<T> {
    fn eq(&self, other: &Ref<U>) -> bool {
        compare::equal(&self.slot, &other.slot, true)
    }
}

/// Which instance something is: equal for all links to the same one, for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstanceId(usize);

/// A member, element or parameter of a class type: nil, or a link to an instance.
///
/// A link owns its instance together with all others to it, except a link *back*: one that closes
/// a cycle. It does not keep its instance alive, so that a cycle is freed when nobody outside holds
/// it. A decoder makes the links back that it must, those from an instance to itself or to one
/// above it; keep the graph's root for as long as you follow them.
///
/// ```
/// use floe_wire::encoding::{AnyClass, Link};
///
/// let nothing: Link<dyn AnyClass> = Link::nil();
/// assert!(nothing.get().is_none());
/// ```
pub struct Link<T: ClassType + ?Sized> {
    target: Target,
    class: PhantomData<fn() -> Box<T>>,
}

#[derive(Clone)]
pub(super) enum Target {
    Nil,
    Owned(Arc<Slot>),
    Back(Weak<Slot>),
}

impl<T: ClassType + ?Sized> Link<T> {
    /// The link to no instance.
    pub const fn nil() -> Self {
        Self::new_in(Target::Nil)
    }

    /// A link to a new instance.
    pub fn new<U: Extends<T>>(value: U) -> Self {
        Ref::<T>::new(value).into()
    }

    /// A link that shares an instance.
    pub fn to<U: Extends<T>>(instance: &Ref<U>) -> Self {
        Self::new_in(Target::Owned(Arc::clone(&instance.slot)))
    }

    /// A link that closes a cycle: it does not keep the instance alive.
    pub fn back_to<U: Extends<T>>(instance: &Ref<U>) -> Self {
        Self::new_in(Target::Back(Arc::downgrade(&instance.slot)))
    }

    /// The instance; `None` for nil, and for a link back to an instance that is no more.
    pub fn get(&self) -> Option<Ref<T>> {
        Ref::checked(self.slot()?)
    }

    /// Which instance it leads to, also while that is not complete yet; `None` for nil, and for a
    /// link back to an instance that is no more.
    pub fn id(&self) -> Option<InstanceId> {
        let slot = self.slot()?;
        Some(InstanceId(Arc::as_ptr(&slot) as usize))
    }

    /// The same link as one back, which does not keep its instance alive.
    #[must_use]
    pub fn to_back(&self) -> Self {
        match &self.target {
            Target::Owned(slot) => Self::new_in(Target::Back(Arc::downgrade(slot))),
            _ => self.clone(),
        }
    }

    /// Whether it is the link to no instance.
    pub const fn is_nil(&self) -> bool {
        matches!(self.target, Target::Nil)
    }

    /// Whether it closes a cycle, and so does not keep its instance alive.
    pub const fn is_back(&self) -> bool {
        matches!(self.target, Target::Back(_))
    }

    /// The same link as one to class `U`. `None` if it leads to an instance that is none; of an
    /// instance that is still being built that is not known, and [`Link::get`] will tell.
    pub fn cast<U: ClassType + ?Sized>(&self) -> Option<Link<U>> {
        let slot = self.slot();
        let instance = slot.as_deref().and_then(Slot::get);
        if instance.is_some_and(|instance| U::cast(&*instance.value).is_none()) {
            return None;
        }
        Some(Link::new_in(self.target.clone()))
    }

    pub(super) const fn new_in(target: Target) -> Self {
        Self {
            target,
            class: PhantomData,
        }
    }

    pub(super) fn slot(&self) -> Option<Arc<Slot>> {
        match &self.target {
            Target::Nil => None,
            Target::Owned(slot) => Some(Arc::clone(slot)),
            Target::Back(slot) => slot.upgrade(),
        }
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
        Self::new_in(Target::Owned(instance.slot))
    }
}

/// Each instance is printed once, and no link back is followed, so it ends.
impl<T: ClassType + ?Sized> fmt::Debug for Link<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Nil => f.write_str("nil"),
            Target::Owned(slot) => compare::print(slot, f),
            Target::Back(slot) => compare::print_back(slot, f),
        }
    }
}

/// As [`Ref`]; links to instances that are no more are equal to nil.
impl<T: ClassType + ?Sized, U: ClassType + ?Sized> PartialEq<Link<U>> for Link<T> {
    fn eq(&self, other: &Link<U>) -> bool {
        let is_owned = !self.is_back() && !other.is_back();
        match (self.slot(), other.slot()) {
            (Some(one), Some(other)) => compare::equal(&one, &other, is_owned),
            (one, other) => one.is_none() && other.is_none(),
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
