//! Interfaces by value between Ice 3.7.8 for Python and a Floe servant of the generated trait.

use std::sync::Mutex;

use contract::by_value::{Keeper, KeeperDispatcher, ShapeProxy};
use floe::classes::{AnyClass, Link};
use floe::encoding::Encoder;
use floe::{Communicator, Current, EncodingVersion, InterfaceByValue, InvokeError, Settings};
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

mod contract {
    floe::include_contract!("ByValue");
}

type ShapeByValue = InterfaceByValue<ShapeProxy>;

/// Returns what it is given, and remembers its class.
#[derive(Default)]
struct Remembering {
    classes: Mutex<Vec<String>>,
}

impl Keeper for std::sync::Arc<Remembering> {
    async fn keep(
        &self,
        given: Link<dyn AnyClass>,
        _current: &Current,
    ) -> Result<Link<dyn AnyClass>, InvokeError> {
        let class = match given.get() {
            Some(given) => {
                assert!(given.cast::<ShapeByValue>().is_some(), "{given:?}");
                given.class_type_id().to_owned()
            }
            None => "nil".to_owned(),
        };
        self.classes.lock().expect("nobody panics").push(class);
        Ok(given)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interfaces_by_value_are_what_ice_sends() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut settings = Settings::default();
    settings.classes.push(ShapeByValue::CLASSES);
    let communicator = Communicator::with_settings(settings);
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let keeper = std::sync::Arc::new(Remembering::default());
    let servant = KeeperDispatcher::new(keeper.clone());
    let proxy = adapter.add_unique(servant).expect("a new identity");
    adapter.activate();

    let mut client = ice.peer("by_value", Language::Python);
    client.arg(proxy.to_string());
    let client = Peer::start("the Ice client", &mut client);
    let said = tokio::task::spawn_blocking(|| client.succeed()).await;
    let sent = |encoding| format!("sent {}", hex(&encoded(encoding)));
    assert_eq!(
        said.expect("no panic"),
        [
            &*sent(EncodingVersion::V1_0),
            "kept",
            "nil",
            &*sent(EncodingVersion::V1_1),
            "kept",
            "nil"
        ]
    );
    let classes = keeper.classes.lock().expect("nobody panics").clone();
    let shape = "::ByValue::Shape";
    assert_eq!(classes, [shape, "nil", shape, "nil"]);
    communicator.shutdown().await;
}

/// An interface by value as parameters of Floe.
fn encoded(encoding: EncodingVersion) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    encoder.encapsulation(encoding, |encoder| {
        let shape: Link<dyn AnyClass> = Link::new(ShapeByValue::default());
        encoder.put(&shape);
        encoder.finish_classes();
    });
    encoder.finish().expect("it can be encoded");
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
