//! Service contexts: what requests and replies carry beside arguments and results.

use bytes::Bytes;

use crate::cdr::{CodeSets, DecodeError, Decoder, EncodeError, Encoder};

/// The most service contexts of a message. ORBs send up to 4.
pub const SERVICE_CONTEXTS_MAX: usize = 256;

/// The numbers of service contexts that are known here. Source: CORBA 3.0.3, 13.7.
pub mod context_id {
    /// The code sets that the client has selected.
    pub const CODE_SETS: u32 = 1;
    /// Requests may be sent in both directions; not supported here.
    pub const BI_DIRECTIONAL: u32 = 5;
}

/// A service context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceContext {
    /// Its kind.
    pub id: u32,
    /// Its data, mostly an encapsulation.
    pub data: Bytes,
}

impl ServiceContext {
    /// The code sets that a client selects.
    ///
    /// # Errors
    /// None that can occur: it has a fixed length.
    pub fn code_sets(code_sets: CodeSets) -> Result<Self, EncodeError> {
        Ok(Self {
            id: context_id::CODE_SETS,
            data: code_sets.to_context()?.into(),
        })
    }

    pub(super) fn decode_list(decoder: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        let count = decoder.count(8, SERVICE_CONTEXTS_MAX, "service contexts")?;
        let contexts = (0..count).map(|_| {
            let id = decoder.ulong("id of a service context")?;
            let data = decoder.octet_sequence("data of a service context")?;
            let data = Bytes::copy_from_slice(data);
            Ok(Self { id, data })
        });
        contexts.collect()
    }

    pub(super) fn encode_list(list: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.len_of("list of service contexts", list.len())?;
        list.iter().try_for_each(|context| {
            encoder.ulong(context.id);
            encoder.octet_sequence(&context.data)
        })
    }
}
