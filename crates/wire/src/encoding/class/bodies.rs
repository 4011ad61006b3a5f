//! Reading the instances of encoding 1.0, which follow the parameters that refer to them.
//!
//! Instances come in any order. So the decoder first finds all of them by the sizes of their
//! slices, and then reads them depth first from those that parameters refer to, as in encoding 1.1.
//! It does not read an instance to which only slices of unknown classes refer.

use std::sync::Arc;

use super::{ClassId, ClassReader, OBJECT_TYPE_ID};
use crate::encoding::slice::{Extent, HAS_SIZE};
use crate::encoding::{DecodeError, DecodeErrorKind, Decoder};

/// The position of an instance's slices, most derived last.
pub(super) struct Body {
    slices: Vec<StoredSlice>,
}

/// The position of a slice's members.
pub(super) struct StoredSlice {
    pub(super) type_id: Arc<str>,
    pub(super) start: usize,
    end: usize,
}

const WHAT: &str = "class instance";

impl StoredSlice {
    pub(super) fn extent(&self) -> Extent {
        Extent {
            flags: HAS_SIZE,
            end: Some(self.end),
        }
    }
}

impl Decoder<'_> {
    /// The id of a reference. If the body of that instance has been found, reads it.
    pub(super) fn reference_id_1_0(
        &mut self,
        what: &'static str,
    ) -> Result<Option<i32>, DecodeError> {
        let start = self.position();
        let reference = self.int(what)?;
        if reference == 0 {
            return Ok(None);
        }
        let Some(id) = reference.checked_neg().filter(|id| *id > 0) else {
            let kind = DecodeErrorKind::InvalidValue(i64::from(reference));
            return Err(self.error_at(start, what, kind));
        };
        let graph = self.graph();
        let known = graph.ids.get(&id).copied();
        if graph.is_reading() {
            return match known {
                Some(known) if graph.instances.is_read(known) => Ok(Some(known)),
                _ => self.read_body(id, start).map(Some),
            };
        }
        let own = known.unwrap_or_else(|| {
            let (own, promise) = graph.instances.want();
            graph.ids.insert(id, own);
            graph.wanted.push((id, promise));
            own
        });
        Ok(Some(own))
    }

    /// Finds all instances, then reads those that parameters refer to.
    pub(super) fn read_pending(&mut self) -> Result<(), DecodeError> {
        loop {
            let count = self.size("number of class instances")?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                self.find_body()?;
            }
        }
        let (end, whole) = (self.position(), self.whole());
        self.graph().whole = whole;
        for (id, promise) in std::mem::take(&mut self.graph().wanted) {
            let graph = self.graph();
            let mut own = graph.ids[&id];
            if !graph.instances.is_read(own) {
                own = self.read_body(id, end)?;
            }
            self.graph().instances.keep_promise(own, &promise);
        }
        self.seek(end);
        Ok(())
    }

    fn find_body(&mut self) -> Result<(), DecodeError> {
        let start = self.position();
        let id = self.int("id of a class instance")?;
        let mut slices = Vec::new();
        loop {
            let slice = self.find_slice()?;
            if *slice.type_id == *OBJECT_TYPE_ID {
                break;
            }
            slices.push(slice);
        }
        slices.reverse();
        let is_new = self.graph().bodies.insert(id, Body { slices }).is_none();
        if id <= 0 || !is_new {
            let kind = DecodeErrorKind::InvalidValue(i64::from(id));
            return Err(self.error_at(start, "id of a class instance", kind));
        }
        Ok(())
    }

    /// Finds the end of a slice, and moves there.
    fn find_slice(&mut self) -> Result<StoredSlice, DecodeError> {
        let is_index = self.get::<bool>()?;
        let type_id = match is_index {
            true => self.indexed_type_id()?,
            false => self.new_type_id()?,
        };
        let extent = Extent::read(self, HAS_SIZE, "class slice size")?;
        let start = self.position();
        let end = extent.end.unwrap_or(start);
        let members = self.bytes(end - start, "class slice")?;
        if *type_id == *OBJECT_TYPE_ID && members != [0] {
            let kind = DecodeErrorKind::InvalidValue(members.len() as i64);
            return Err(self.error_at(
                start,
                "facets of a class instance, which must be none",
                kind,
            ));
        }
        Ok(StoredSlice {
            type_id,
            start,
            end,
        })
    }

    /// Reads the instance for which the peer chose this id, and those that it refers to. Its body was found before. Returns
    /// its id here.
    fn read_body(&mut self, id: i32, at: usize) -> Result<i32, DecodeError> {
        let Some(Body { mut slices }) = self.graph().bodies.remove(&id) else {
            return Err(self.error_at(at, WHAT, DecodeErrorKind::UnknownInstance(id)));
        };
        let most_derived = slices.last().map(|slice| Arc::clone(&slice.type_id));
        let factory = loop {
            let Some(slice) = slices.last() else {
                let name = most_derived.as_deref().unwrap_or(OBJECT_TYPE_ID);
                let kind = DecodeErrorKind::UnknownClass(name.to_owned());
                return Err(self.error_at(at, WHAT, kind));
            };
            match self.graph().find(ClassId::Name(&slice.type_id)) {
                Some(factory) => break factory,
                None => slices.pop(),
            };
        };
        let graph = self.graph();
        let next = graph.instances.next_id();
        let own = *graph.ids.entry(id).or_insert(next);
        self.open_instance(own)?;
        let whole = self.graph().whole;
        let outer = (self.widen(whole), self.position());
        // A body may be anywhere, and no other value claims its bytes.
        let outer_limit = self.replace_limit(usize::MAX);
        let value = ClassReader::stored(self, slices).read(factory)?;
        self.replace_limit(outer_limit);
        self.widen(outer.0);
        self.seek(outer.1);
        self.close_instance(own, value, Vec::new())?;
        Ok(own)
    }
}
