//! How the request began that was read last: most that follow it begin the same.

use super::fields::Fields;

/// What stands in front of a request's parameters, and what it says. A request of a later read that
/// begins with the same bytes says the same, and need not be looked at field by field.
#[derive(Debug, Clone, Default)]
pub struct KnownHead {
    bytes: Vec<u8>,
    fields: Option<Fields>,
}

/// Longer heads are not remembered, in bytes: they have a context, which may be another each time.
const LEN_MAX: usize = 256;

impl KnownHead {
    /// The fields of the body at `start`, if it begins so.
    #[inline]
    pub(super) fn fields_at(&self, input: &[u8], start: usize) -> Option<Fields> {
        let mut fields = self.fields?;
        let begins_so = input.get(start..)?.starts_with(&self.bytes);
        (begins_so && fields.move_to(input, start)).then_some(fields)
    }

    /// Remembers how the body of these fields begins.
    pub(super) fn remember(&mut self, input: &[u8], fields: &Fields) {
        let head = fields.head(input);
        if head.len() <= LEN_MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(head);
            self.fields = Some(*fields);
        }
    }
}
