//! Reading an instance slice by slice, from the most derived class that is known.

use super::bodies::StoredSlice;
use super::{AnyClass, ClassFactory, SliceId};
use crate::encoding::slice::{self, Extent};
use crate::encoding::{DecodeError, DecodeErrorKind, Decoder};

/// The slices of one instance. Each class in the chain of bases reads its own.
pub struct ClassReader<'r, 'a> {
    decoder: &'r mut Decoder<'a>,
    slices: Slices,
}

/// Where the slices are.
enum Slices {
    /// Encoding 1.1: one slice after the other, at the decoder's position. Holds the header of the
    /// next slice if it has been read, and whether the previous slice was the last.
    Inline {
        next: Option<SliceHeader>,
        is_last: bool,
    },
    /// Encoding 1.0: the slices were found before; the next one is the last element.
    Stored(Vec<StoredSlice>),
}

/// The header in front of the members in encoding 1.1.
pub(super) struct SliceHeader {
    pub(super) id: Option<SliceId>,
    pub(super) extent: Extent,
}

const WHAT: &str = "class slice";

impl SliceHeader {
    pub(super) fn read(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let flags = decoder.byte("class slice flags")?;
        let id = decoder.slice_id(flags)?;
        let extent = Extent::read(decoder, flags, WHAT)?;
        Ok(Self { id, extent })
    }
}

impl<'r, 'a> ClassReader<'r, 'a> {
    pub(super) fn inline(decoder: &'r mut Decoder<'a>, first: SliceHeader) -> Self {
        let slices = Slices::Inline {
            next: Some(first),
            is_last: false,
        };
        Self { decoder, slices }
    }

    pub(super) fn stored(decoder: &'r mut Decoder<'a>, slices: Vec<StoredSlice>) -> Self {
        Self {
            decoder,
            slices: Slices::Stored(slices),
        }
    }

    /// Lets the class read its slices, and checks that none is left.
    pub(super) fn read(
        mut self,
        factory: &dyn ClassFactory,
    ) -> Result<Box<dyn AnyClass>, DecodeError> {
        let value = factory.decode(&mut self)?;
        let left = match &self.slices {
            Slices::Inline { is_last, .. } => usize::from(!is_last),
            Slices::Stored(slices) => slices.len(),
        };
        match left {
            0 => Ok(value),
            _ => {
                let kind = DecodeErrorKind::OtherBases(value.class_type_id().to_owned());
                Err(self.decoder.error("class instance", kind))
            }
        }
    }

    /// Reads the members of the next slice, which must belong to the class with this type id.
    ///
    /// # Errors
    /// [`DecodeError`] from `members`, if the slice belongs to another class, or if it does not end
    /// where its size says.
    pub fn slice<T>(
        &mut self,
        type_id: &str,
        members: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        match &mut self.slices {
            Slices::Inline { next, is_last } => {
                let header = match next.take() {
                    Some(header) => header,
                    None if *is_last => return Err(other_bases(self.decoder, type_id)),
                    None => SliceHeader::read(self.decoder)?,
                };
                *is_last = header.extent.is_last();
                if let Some(SliceId::Name(name)) = &header.id
                    && **name != *type_id
                {
                    return Err(other_bases(self.decoder, type_id));
                }
                slice::read(self.decoder, header.extent, WHAT, members)
            }
            Slices::Stored(slices) => match slices.pop() {
                Some(slice) if *slice.type_id == *type_id => {
                    self.decoder.seek(slice.start);
                    slice::read(self.decoder, slice.extent(), WHAT, members)
                }
                _ => Err(other_bases(self.decoder, type_id)),
            },
        }
    }
}

fn other_bases(decoder: &Decoder<'_>, type_id: &str) -> DecodeError {
    let kind = DecodeErrorKind::OtherBases(type_id.to_owned());
    decoder.error(WHAT, kind)
}

impl std::fmt::Debug for ClassReader<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClassReader")
            .field("decoder", &self.decoder)
            .finish_non_exhaustive()
    }
}
