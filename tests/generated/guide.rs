//! The examples of `docs/guides/metadata.md`, and what they claim.

use std::sync::Arc;

use floe::dispatch::{DispatchSlot, Requests};
use floe::encoding::{Decode, Decoder, Encode, Encoder};
use floe::message::Outcome;
use floe::{
    Communicator, Current, Dispatcher, EncodingVersion, InvokeError, OperationMode,
    SystemException, TypedProxy,
};

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

/// A nil proxy as the only parameter or result.
const NIL: [u8; 8] = [8, 0, 0, 0, 1, 1, 0, 0];

#[tokio::test]
async fn a_nil_proxy_that_the_contract_excludes_is_an_error_on_either_side() {
    use contract::present::{Shop, ShopDispatcher, ShopProxy};

    struct Uncalled;

    impl Shop for Uncalled {
        async fn branch(&self, _: String, _: &Current) -> Result<ShopProxy, InvokeError> {
            panic!("nobody asks")
        }

        async fn supply(&self, _: ShopProxy, _: &Current) -> Result<(), InvokeError> {
            panic!("it is called without what it needs")
        }
    }

    /// Answers every request with nil.
    struct Nil;

    impl Dispatcher for Nil {
        fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
            requests.each(slot, |request| {
                let outcome = Outcome::Returned(NIL.to_vec().into());
                Box::pin(async move { request.respond(&outcome) })
            });
        }
    }

    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let nil = adapter.add_unique(Nil).expect("a new identity");
    let shop = adapter.add_unique(ShopDispatcher::new(Uncalled));
    let shop = shop.expect("a new identity");
    adapter.activate();

    let got = ShopProxy::from_proxy(nil).branch("north").await;
    let error = got.expect_err("nil is no shop").to_string();
    assert!(error.contains("got a nil proxy"), "{error}");
    let got = shop.invoke("supply", OperationMode::Normal, &NIL).await;
    let Err(InvokeError::System(SystemException::UnknownLocalException(error))) = got else {
        panic!("expected an exception, got {got:?}");
    };
    assert!(error.contains("got a nil proxy"), "{error}");
    communicator.shutdown().await;
}

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.put(value);
    encoder.finish().expect("encodable");
    bytes
}
