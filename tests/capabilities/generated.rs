//! Generated code: proxies call servants through the runtime, with every type and every name that
//! is hard to spell in Rust.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use floe::contracts::ice_storm::{NoSuchTopic, QoS, TopicProxy};
use floe::encoding::{Decode, Decoder, Encode, Encoder};
use floe::{
    Adapter, Communicator, Current, EncodingVersion, Identity, InvokeError, Proxy, SystemException,
    TypedProxy,
};

use crate::contract::everything::{
    self, Base, BaseOrInvokeError, Bytes, Deepest, Derived, DerivedOrEmptyError, Huge,
    IceStormNoSuchTopicError, Invoke, Item, Key, Later, LaterDispatcher, LaterProxy, Named,
    NamedProxy, Objects, Option as Choice, Other, Tables, Tool, ToolProxy, Volume, WideOne, inner,
};

/// A servant as a user writes one.
#[derive(Default)]
struct Workbench {
    calls: AtomicI32,
}

impl Named for Workbench {
    async fn name(&self, current: &Current) -> Result<String, InvokeError> {
        Ok(current.identity().name)
    }
}

impl Tool for Workbench {
    async fn nothing(&self, _current: &Current) -> Result<(), InvokeError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn everything(
        &self,
        flag: bool,
        volume: Volume,
        name: String,
        data: Bytes,
        tables: Tables,
        item: Item,
        anything: Option<Proxy>,
        later: Option<LaterProxy>,
        objects: Objects,
        _current: &Current,
    ) -> Result<(Item, everything::Vec, Option<ToolProxy>), BaseOrInvokeError> {
        match name.as_str() {
            "base" => return Err(Base::default().into()),
            "deepest" => return Err(deepest().into()),
            "invoke" => return Err(Invoke { by: anything }.into()),
            _ => {}
        }
        let told = format!(
            "{flag} {volume:?} {} {} {}",
            data.len(),
            tables.len(),
            objects.len()
        );
        let returned = Item {
            name: told,
            anything,
            ..item
        };
        let results = vec![Choice { result: data }, Choice::default()];
        Ok((returned, results, later.map(ToolProxy::from)))
    }

    async fn encoder(
        &self,
        encoder: i32,
        decoder: i32,
        request: i32,
        current: i32,
        result: i32,
        self_: i32,
        r#type: i32,
        _: &Current,
    ) -> Result<(i64, i32, i32), InvokeError> {
        let sum = encoder + decoder + request + current + result + self_ + r#type;
        Ok((sum.into(), encoder, r#type))
    }

    async fn compact(&self, _current: &Current) -> Result<String, DerivedOrEmptyError> {
        Err(Derived {
            code: 7,
            reason: "compact".to_owned(),
            seconds: 0.5,
        }
        .into())
    }

    async fn into(&self, _current: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn renamed(&self, _current: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn len(&self, _current: &Current) -> Result<i32, InvokeError> {
        Ok(self.calls.load(Ordering::Relaxed))
    }
}

impl Other for Workbench {
    async fn from_file(
        &self,
        topic: Option<TopicProxy>,
        qos: QoS,
        _current: &Current,
    ) -> Result<(), IceStormNoSuchTopicError> {
        match topic {
            Some(_) => Ok(()),
            None => Err(NoSuchTopic {
                name: qos["name"].clone(),
            }
            .into()),
        }
    }
}

impl Later for Workbench {
    async fn last(&self, _current: &Current) -> Result<(), InvokeError> {
        Err(SystemException::UnknownException("at last".to_owned()).into())
    }
}

#[tokio::test]
async fn every_type_goes_there_and_back() {
    let (_adapter, proxy) = served().await;
    let item = item(&proxy);
    let tables = Tables::from([("a".to_owned(), vec![vec!["b".to_owned()], vec![]])]);
    let objects: Objects = vec![None, Some(proxy.clone().into())];
    let (returned, results, other) = proxy
        .everything(
            true,
            Volume::Self_,
            "somebody",
            &[1, 2, 3],
            &tables,
            &item,
            Some(proxy.as_proxy()),
            Some(&proxy),
            &objects,
        )
        .await
        .unwrap();
    assert_eq!(returned.name, "true Self_ 3 1 2");
    let expected = Item {
        name: returned.name.clone(),
        ..item
    };
    assert_eq!(returned, expected);
    assert_eq!(
        results,
        [
            Choice {
                result: vec![1, 2, 3]
            },
            Choice { result: vec![] }
        ]
    );
    assert_eq!(other.unwrap().as_proxy(), proxy.as_proxy());
}

#[tokio::test]
async fn a_caller_gets_the_exception_that_the_servant_threw() {
    let (_adapter, proxy) = served().await;
    let call = async |name| {
        let item = Item::default();
        let tables = Tables::new();
        let anything = Some(proxy.as_proxy());
        let result = proxy
            .everything(
                false,
                Volume::Silent,
                name,
                &[],
                &tables,
                &item,
                anything,
                None,
                &[],
            )
            .await;
        result.unwrap_err()
    };
    let base = call("base").await;
    assert_eq!(base.to_string(), "::Everything::Base (code = 1)");
    assert!(matches!(base, BaseOrInvokeError::Base(Base { code: 1 })));
    let BaseOrInvokeError::Deepest(thrown) = call("deepest").await else {
        panic!("the derived exception was sliced");
    };
    assert_eq!(thrown, deepest());
    let BaseOrInvokeError::EverythingInvoke(thrown) = call("invoke").await else {
        panic!("an exception named like a variant was lost");
    };
    assert_eq!(thrown.by.as_ref(), Some(proxy.as_proxy()));
}

#[tokio::test]
async fn exceptions_in_compact_format_and_of_other_contracts_arrive_too() {
    let (_adapter, proxy) = served().await;
    let DerivedOrEmptyError::Derived(thrown) = proxy.compact().await.unwrap_err() else {
        panic!("expected the declared exception");
    };
    assert_eq!((thrown.code, thrown.reason.as_str()), (7, "compact"));
    let qos = QoS::from([("name".to_owned(), "lost".to_owned())]);
    let IceStormNoSuchTopicError::NoSuchTopic(thrown) =
        proxy.from_file(None, &qos).await.unwrap_err()
    else {
        panic!("expected the exception of IceStorm");
    };
    assert_eq!(thrown.name, "lost");
    let topic = TopicProxy::from_proxy(proxy.as_proxy().clone());
    proxy.from_file(Some(&topic), &qos).await.unwrap();
}

#[tokio::test]
async fn results_come_in_order_whatever_parameters_are_called() {
    let (_adapter, proxy) = served().await;
    let results = proxy.encoder(1, 2, 3, 4, 5, 6, 7).await.unwrap();
    assert_eq!(results, (28, 1, 7));
}

#[tokio::test]
async fn a_proxy_of_a_base_reaches_the_same_servant() {
    let (_adapter, proxy) = served().await;
    let named = NamedProxy::from(proxy.clone());
    assert_eq!(named.name().await.unwrap(), "bench");
    assert_eq!(named.ice_id().await.unwrap(), "::Everything::Later");
    let ids = named.ice_ids().await.unwrap();
    assert_eq!(
        ids,
        [
            "::Everything::Later",
            "::Everything::Named",
            "::Everything::Other",
            "::Everything::Tool",
            "::Ice::Object"
        ]
    );
    assert!(LaterProxy::checked(named.clone()).await.unwrap().is_some());
    assert!(inner::WorkerProxy::checked(named).await.unwrap().is_none());
}

#[tokio::test]
async fn a_servant_can_be_shared_and_called_without_a_proxy() {
    let (_adapter, proxy, bench) = served_and_shared().await;
    proxy.nothing().await.unwrap();
    proxy.nothing().await.unwrap();
    assert_eq!(proxy.len().await.unwrap(), 2);
    assert_eq!(bench.calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_call_can_be_made_from_another_task() {
    let (_adapter, proxy) = served().await;
    let call = tokio::spawn(async move { proxy.encoder(1, 1, 1, 1, 1, 1, 1).await });
    assert_eq!(call.await.unwrap().unwrap(), (7, 1, 1));
}

#[tokio::test]
async fn a_system_exception_of_a_servant_reaches_the_caller() {
    let (_adapter, proxy) = served().await;
    let error = proxy.last().await.unwrap_err();
    let InvokeError::System(SystemException::UnknownException(text)) = &error else {
        panic!("expected what the servant failed with, got {error}");
    };
    assert!(text.contains("at last"), "{text}");
}

#[test]
fn constants_and_defaults_are_those_of_the_contract() {
    assert_eq!(everything::GREETING, "say \"h\u{e9}\" \\ \t");
    assert_eq!(everything::LEAST, i64::MIN);
    assert_eq!(everything::USUAL, Volume::Normal);
    let item = Item::default();
    assert_eq!((item.octet, item.small, item.exact), (200, -7, -0.125));
    assert_eq!(
        (item.name.as_str(), item.volume),
        ("none", Volume::VeryLoud)
    );
    assert_eq!(Volume::default(), Volume::Silent);
    assert_eq!(Volume::from_value(6), Some(Volume::VeryLoud));
    assert_eq!(Volume::from_value(7), None);
}

#[test]
fn an_enumerator_takes_the_width_that_the_encoding_says() {
    assert_eq!(encoded(&WideOne::Beyond, EncodingVersion::V1_0), [127, 0]);
    assert_eq!(encoded(&WideOne::Beyond, EncodingVersion::V1_1), [127]);
    assert_eq!(
        encoded(&Huge::All, EncodingVersion::V1_0),
        [255, 255, 255, 127]
    );
    let bytes = [255, 255, 255, 255, 127];
    assert_eq!(encoded(&Huge::All, EncodingVersion::V1_1), bytes);
    let unknown = Volume::decode(&mut Decoder::new(&[4], EncodingVersion::V1_1)).unwrap_err();
    let expected = "cannot decode ::Everything::Volume at byte 1: no enumerator has the value 4";
    assert_eq!(unknown.to_string(), expected);
}

#[test]
fn a_truncated_struct_is_an_error_at_every_length() {
    let item = Item {
        data: vec![1; 9],
        ..Item::default()
    };
    let bytes = encoded(&item, EncodingVersion::V1_1);
    for len in 0..bytes.len() {
        let mut decoder = Decoder::new(&bytes[..len], EncodingVersion::V1_1);
        assert!(Item::decode(&mut decoder).is_err(), "{len}");
    }
    assert!(bytes.len() >= Item::MIN_WIRE_LEN);
}

async fn served() -> (Adapter, LaterProxy) {
    let (adapter, proxy, _) = served_and_shared().await;
    (adapter, proxy)
}

async fn served_and_shared() -> (Adapter, LaterProxy, Arc<Workbench>) {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let bench = Arc::new(Workbench::default());
    let dispatcher = LaterDispatcher::new(bench.clone());
    let proxy = adapter.add("bench", dispatcher).unwrap();
    adapter.activate();
    (adapter, LaterProxy::from_proxy(proxy), bench)
}

fn deepest() -> Deepest {
    Deepest {
        code: 3,
        reason: "deep".to_owned(),
        seconds: 1.5,
        r#where: Item::default(),
    }
}

fn item(proxy: &LaterProxy) -> Item {
    let key = Key {
        x: -1,
        kind: WideOne::Beyond,
    };
    let id = Identity {
        name: "n".to_owned(),
        category: "c".to_owned(),
    };
    Item {
        data: (0..=255).collect(),
        weights: [(key.clone(), 2.5)].into(),
        volumes: [(id.clone(), Volume::Normal)].into(),
        key,
        id,
        encoding: EncodingVersion::V1_0,
        anything: Some(proxy.as_proxy().clone()),
        renamed: 9,
        ..Item::default()
    }
}

fn encoded(value: &impl Encode, encoding: EncodingVersion) -> std::vec::Vec<u8> {
    let mut bytes = std::vec::Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    encoder.put(value);
    encoder.finish().unwrap();
    bytes
}
