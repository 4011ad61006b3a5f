//! Bytes read in place, as views.

use std::collections::BTreeMap;
use std::fmt::Debug;

use floe_wire::encoding::{Decode, Packed, View};
use floe_wire::{Decoder, EncodingVersion};

/// Reads `input` as views of many types.
///
/// Whatever the bytes are, this must end without a panic. A view has the value of what owns its data, and where one is
/// refused, the other is, for the same reason.
pub(crate) fn run(input: &[u8]) {
    for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
        same::<&str>(input, encoding);
        same::<&[u8]>(input, encoding);
        same::<Vec<&str>>(input, encoding);
        same::<Vec<Vec<&[u8]>>>(input, encoding);
        same::<BTreeMap<&str, &[u8]>>(input, encoding);
        same::<BTreeMap<i32, Vec<&str>>>(input, encoding);
        same::<Vec<BTreeMap<&str, Packed<'_, i64>>>>(input, encoding);
        same::<Packed<'_, bool>>(input, encoding);
        same::<Packed<'_, i16>>(input, encoding);
        same::<Packed<'_, i32>>(input, encoding);
        // As integers: a value that is no number differs from itself.
        packed(input, encoding);
    }
}

fn same<'a, V>(input: &'a [u8], encoding: EncodingVersion)
where
    V: View<'a, Owned: Decode + PartialEq + Debug>,
{
    let (mut owned, mut viewed) = (Decoder::new(input, encoding), Decoder::new(input, encoding));
    match (owned.get::<V::Owned>(), viewed.view::<V>()) {
        (Ok(owned), Ok(view)) => assert_eq!(view.into_owned(), owned),
        (Err(owned), Err(view)) => {
            assert_eq!((owned.kind, owned.offset), (view.kind, view.offset));
        }
        (owned, view) => panic!("one is refused: {owned:?}, {:?}", view.err()),
    }
    assert_eq!(owned.remaining(), viewed.remaining());
}

fn packed(input: &[u8], encoding: EncodingVersion) {
    let Ok(view) = Decoder::new(input, encoding).view::<Packed<'_, f64>>() else {
        return;
    };
    assert_eq!(view.iter().len(), view.len());
    assert_eq!(view.as_bytes().len(), view.len() * 8);
    assert!(view.get(view.len()).is_none());
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(view.to_vec()), bits(view.iter().collect()));
}
