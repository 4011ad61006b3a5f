//! A cache for the head of the last request: most requests after it begin with the same bytes.

use bytes::Bytes;

use super::batch_scan::parse_fields;
use super::fields::Fields;
use super::{IncomingRequest, SingleRequest};

/// The bytes of a request before its parameters, with their parsed fields. A later request that begins with the same
/// bytes has the same fields, and is not parsed again.
#[derive(Debug, Clone, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    fields: Option<Fields>,
}

/// The maximum length of a cached head in bytes. A longer head usually has a context, which may differ with each
/// request.
const LEN_MAX: usize = 256;

impl HeadCache {
    /// The fields of the body at `start`, in a message that ends where the input ends. If the body does not begin with
    /// the cached bytes, it is parsed, and its head is cached unless it is too long.
    #[inline]
    pub(super) fn fields_of(&mut self, input: &[u8], start: usize) -> Option<Fields> {
        if let Some(fields) = self.fields_at(input, start) {
            return Some(fields);
        }
        let fields = parse_fields(input, start)?;
        self.remember(input, &fields);
        Some(fields)
    }

    /// The fields, if the body begins with the cached bytes.
    #[inline]
    fn fields_at(&self, input: &[u8], start: usize) -> Option<Fields> {
        let mut fields = self.fields?;
        let begins_so = input.get(start..)?.starts_with(&self.bytes);
        (begins_so && fields.move_to(input, start)).then_some(fields)
    }

    /// A copy of `single`, the last request that was looked up, without its parameters: enough to answer it in place of
    /// its servant. Returns `None` if its head is not cached.
    pub fn request(&self, single: &SingleRequest) -> Option<IncomingRequest> {
        let mut fields = *single.fields();
        if !self.is_of(&fields) {
            return None;
        }
        fields.cut_to_head();
        let bytes = Bytes::copy_from_slice(&self.bytes);
        Some(IncomingRequest::new(bytes, fields))
    }

    /// Returns true if the cache holds the head of the last request that was looked up, which has these fields. It does
    /// not if the head was too long.
    #[inline]
    pub(super) fn is_of(&self, fields: &Fields) -> bool {
        self.fields.is_some() && self.bytes.len() == fields.parameters.start as usize
    }

    /// Caches the head of a body with these fields.
    fn remember(&mut self, input: &[u8], fields: &Fields) {
        let head = fields.head(input);
        if head.len() <= LEN_MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(head);
            self.fields = Some(*fields);
        }
    }
}
