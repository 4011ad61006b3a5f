//! The links inside an instance.

use std::sync::Arc;

use super::instance::Held;
use super::link::LinkTarget;
use super::promise::Promise;
use super::{AnyClass, UnknownSlice};
use crate::encoding::{EncodeError, Encoder, EncodingVersion};

/// The links of an instance that matter when a graph is finished. They are found by encoding the members, because that
/// visits each link.
#[derive(Default)]
pub(super) struct Links {
    /// Links to instances of unfinished graphs.
    pub(super) promised: Vec<Arc<Promise>>,
    /// Links to instances outside of groups.
    pub(super) lone: Vec<Held>,
}

impl Links {
    /// The links of an instance and of its unknown slices.
    ///
    /// # Errors
    /// [`EncodeError`] if a member cannot be encoded, because some of its links may not have been visited then.
    pub(super) fn of(value: &dyn AnyClass, unknown: &[UnknownSlice]) -> Result<Self, EncodeError> {
        let mut buffer = Vec::new();
        let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
        encoder.graph().visited = Some(Box::default());
        let mut level = Some(value);
        while let Some(class) = level {
            class.encode_members(&mut encoder);
            level = class.base();
        }
        let mut links = *encoder.graph().visited.take().unwrap_or_default();
        encoder.finish()?;
        let kept = unknown.iter().flat_map(UnknownSlice::instances);
        kept.for_each(|link| links.visit(link.target()));
        Ok(links)
    }

    pub(super) fn visit(&mut self, target: &LinkTarget) {
        match target {
            LinkTarget::Promised(promise) if promise.is_open() => {
                self.promised.push(Arc::clone(promise));
            }
            _ => self.lone.extend(target.held().filter(Held::is_lone)),
        }
    }
}
