//! The links that stand in an instance.

use std::sync::Arc;

use super::instance::Held;
use super::link::Target;
use super::promise::Promise;
use super::{AnyClass, UnknownSlice};
use crate::encoding::{EncodeError, Encoder, EncodingVersion};

/// What matters of an instance's links when a graph is finished. It is found by encoding the members,
/// since that visits each of them.
#[derive(Default)]
pub(super) struct Links {
    /// Those to instances of graphs that are not finished.
    pub(super) promised: Vec<Arc<Promise>>,
    /// Those to instances that are in no group.
    pub(super) lone: Vec<Held>,
}

impl Links {
    /// The links of an instance and of its unknown slices.
    ///
    /// # Errors
    /// [`EncodeError`] if a member has no encoding, since its links may have been passed over then.
    pub(super) fn of(value: &dyn AnyClass, unknown: &[UnknownSlice]) -> Result<Self, EncodeError> {
        let mut buffer = Vec::new();
        let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
        encoder.graph().visited = Some(Self::default());
        let mut level = Some(value);
        while let Some(class) = level {
            class.encode_members(&mut encoder);
            level = class.base();
        }
        let mut links = encoder.graph().visited.take().unwrap_or_default();
        encoder.finish()?;
        let kept = unknown.iter().flat_map(UnknownSlice::instances);
        kept.for_each(|link| links.visit(link.target()));
        Ok(links)
    }

    pub(super) fn visit(&mut self, target: &Target) {
        match target {
            Target::Promised(promise) if promise.is_open() => {
                self.promised.push(Arc::clone(promise));
            }
            _ => self.lone.extend(target.held().filter(Held::is_lone)),
        }
    }
}
