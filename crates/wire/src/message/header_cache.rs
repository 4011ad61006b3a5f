//! How the last request began: most requests that follow it begin the same.

use bytes::Bytes;

use super::batch_scan::parse_fields;
use super::fields::{Field, Fields};
use super::{IncomingRequest, SingleRequest};

/// What stands in front of a request's parameters, and what it says. A request of a later read that
/// begins with the same bytes says the same, and need not be looked at field by field.
#[derive(Debug, Clone, Default)]
pub struct HeaderCache {
    bytes: Vec<u8>,
    fields: Option<Fields>,
}

/// Longer heads are not remembered, in bytes: they have a context, which may be another each time.
const LEN_MAX: usize = 256;

impl HeaderCache {
    /// The fields of the body at `start`, in a message that ends with the input.
    #[inline]
    pub(super) fn fields_of(&mut self, input: &[u8], start: usize) -> Option<Fields> {
        if let Some(fields) = self.fields_at(input, start) {
            return Some(fields);
        }
        let fields = parse_fields(input, start)?;
        self.remember(input, &fields);
        Some(fields)
    }

    /// The same, if it begins as the last one.
    #[inline]
    fn fields_at(&self, input: &[u8], start: usize) -> Option<Fields> {
        let mut fields = self.fields?;
        let begins_so = input.get(start..)?.starts_with(&self.bytes);
        (begins_so && fields.move_to(input, start)).then_some(fields)
    }

    /// A request that begins so, in bytes of its own and without its parameters: what an answer in place of its
    /// servant needs to know. `None` if it does not begin so.
    pub fn request(&self, single: &SingleRequest) -> Option<IncomingRequest> {
        let mut fields = *single.fields();
        if !self.is_of(&fields) {
            return None;
        }
        let len = self.bytes.len();
        fields.start = 0;
        fields.parameters = Field::new(len, len);
        let bytes = Bytes::copy_from_slice(&self.bytes);
        Some(IncomingRequest::new(bytes, fields))
    }

    /// Whether this is how the request begins whose fields were looked for last: else that was too long.
    #[inline]
    pub(super) fn is_of(&self, fields: &Fields) -> bool {
        self.fields.is_some() && self.bytes.len() == fields.parameters.start as usize
    }

    /// Remembers how the body of these fields begins.
    fn remember(&mut self, input: &[u8], fields: &Fields) {
        let head = fields.head(input);
        if head.len() <= LEN_MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(head);
            self.fields = Some(*fields);
        }
    }
}
