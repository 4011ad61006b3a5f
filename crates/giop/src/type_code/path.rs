//! A place within a TypeCode, with the types that contain it.

use super::TypeCode;

/// A type, and the types that contain it: recursion leads to one of these.
#[derive(Clone, Copy)]
pub(crate) struct TypePath<'a> {
    pub(crate) code: &'a TypeCode,
    outer: Option<&'a TypePath<'a>>,
}

impl<'a> TypePath<'a> {
    pub(crate) fn new(code: &'a TypeCode) -> Self {
        Self { code, outer: None }
    }

    /// A type within this one, or the one that it leads back to.
    ///
    /// `None` if a recursion leads out of the outermost type.
    pub(crate) fn inner<'b>(&'b self, code: &'b TypeCode) -> Option<TypePath<'b>>
    where
        'a: 'b,
    {
        let TypeCode::Recursive(levels) = code else {
            return Some(TypePath {
                code,
                outer: Some(self),
            });
        };
        let mut target = self;
        for _ in 1..*levels {
            target = target.outer?;
        }
        Some(*target)
    }
}
