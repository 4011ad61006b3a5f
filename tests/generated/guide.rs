//! The examples of `docs/guides/metadata.md`, and what they claim.

use floe::EncodingVersion;
use floe::encoding::{Decode, Decoder, Encode, Encoder};

mod contract {
    floe::include_contract!("Guide");
}

/// The Rust of the page.
#[allow(unused_variables)]
mod examples {
    use super::contract::*;

    include!(concat!(env!("OUT_DIR"), "/guide.rs"));
}

#[test]
fn another_container_has_the_bytes_of_the_usual_one() {
    use contract::containers::{Few, Market, Window};
    let market = Market {
        window: Window::from([1, 2]),
        prices: [("tea".to_owned(), 2.5)].into(),
        few: [3, 4].into_iter().collect::<Few>(),
    };
    let bytes = encoded(&market);
    let usual = (vec![1, 2], [("tea".to_owned(), 2.5)], vec![3_i64, 4]);
    let mut expected = encoded(&usual.0);
    expected.extend(encoded(&std::collections::BTreeMap::from(usual.1)));
    expected.extend(encoded(&usual.2));
    assert_eq!(bytes, expected);
    let decoded = Market::decode(&mut Decoder::new(&bytes, EncodingVersion::V1_1));
    assert_eq!(decoded, Ok(market));
}

#[test]
fn bytes_are_a_slice_of_what_they_were_decoded_from() {
    use contract::frames::Frame;
    let frame = Frame {
        width: 1,
        pixels: vec![7; 300].into(),
    };
    let message = floe::Bytes::from(encoded(&frame));
    let mut decoder = Decoder::new(&message, EncodingVersion::V1_1).with_owner(&message);
    let decoded: Frame = decoder.get().expect("a frame");
    assert_eq!(decoded, frame);
    assert_eq!(decoded.pixels.as_ptr(), message[9..].as_ptr());
}

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.put(value);
    encoder.finish().expect("encodable");
    bytes
}
