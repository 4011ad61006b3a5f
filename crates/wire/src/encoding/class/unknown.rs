//! Slices of classes and exceptions that this program does not know.

use std::sync::Arc;

use super::{AnyClass, Link};
use crate::encoding::Encoder;

/// The name of a kept slice's class or exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceId {
    /// By type id.
    Name(Arc<str>),
    /// By compact id.
    Compact(i32),
}

/// A slice of a class or exception that this program does not know, kept to be sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownSlice {
    pub(super) id: SliceId,
    /// The members, without the end marker of tagged ones.
    pub(super) bytes: Vec<u8>,
    pub(super) has_tagged: bool,
    pub(super) is_last: bool,
    /// The instances of its indirection table, which `bytes` refer to by index.
    pub(super) instances: Vec<Link<dyn AnyClass>>,
}

impl UnknownSlice {
    /// Makes a kept slice: `bytes` are the members without the end marker of tagged ones, and refer
    /// to `instances` by index from 1. `is_last` says that the class has no base.
    pub fn new(
        id: SliceId,
        bytes: Vec<u8>,
        has_tagged: bool,
        is_last: bool,
        instances: Vec<Link<dyn AnyClass>>,
    ) -> Self {
        Self {
            id,
            bytes,
            has_tagged,
            is_last,
            instances,
        }
    }

    /// Returns true if there are tagged members among [`bytes`](Self::bytes).
    pub fn has_tagged(&self) -> bool {
        self.has_tagged
    }

    /// The class or exception of the slice.
    pub fn id(&self) -> &SliceId {
        &self.id
    }

    /// The encoded members.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The instances that the members refer to.
    pub fn instances(&self) -> &[Link<dyn AnyClass>] {
        &self.instances
    }
}

/// An instance whose class this program does not know: it has only unknown slices.
///
/// It can be sent again only in the sliced format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownClass {
    type_id: Arc<str>,
}

impl UnknownClass {
    /// Makes an instance whose most derived slice is of this class.
    pub fn new(most_derived: &SliceId) -> Self {
        let type_id = match most_derived {
            SliceId::Name(type_id) => Arc::clone(type_id),
            SliceId::Compact(id) => id.to_string().into(),
        };
        Self { type_id }
    }
}

impl AnyClass for UnknownClass {
    /// The type id that the peer sent, or the compact id in decimal.
    fn class_type_id(&self) -> &str {
        &self.type_id
    }

    fn compact_id(&self) -> Option<i32> {
        None
    }

    fn base(&self) -> Option<&dyn AnyClass> {
        None
    }

    fn encode_members(&self, _encoder: &mut Encoder<'_>) {}

    fn equals(&self, other: &dyn AnyClass) -> bool {
        (other as &dyn std::any::Any).downcast_ref() == Some(self)
    }
}
