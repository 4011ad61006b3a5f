//! Nil inside of a sequence, a dictionary or a structure whose contract excludes it with `rust:nonnull`.
//!
//! The peer that sends it has the same contract without the directive, so its bytes are those of any Ice program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use floe::{Adapter, Communicator, Current, InvokeError, SystemException, TypedProxy};

use crate::contract::nil::{ChainProxy, allowed, excluded};

/// Sends nil, whatever it gets.
struct Careless;

impl allowed::Market for Careless {
    async fn list(
        &self,
        mut shops: allowed::Shops,
        _: &Current,
    ) -> Result<allowed::Shops, InvokeError> {
        shops.push(None);
        Ok(shops)
    }

    async fn map(&self, _: allowed::Regions, _: &Current) -> Result<allowed::Regions, InvokeError> {
        Ok(regions())
    }

    async fn one(&self, _: allowed::Branch, _: &Current) -> Result<allowed::Branch, InvokeError> {
        Ok(branch())
    }

    async fn many(
        &self,
        _: allowed::Branches,
        _: &Current,
    ) -> Result<allowed::Branches, InvokeError> {
        Ok(vec![branch()])
    }
}

/// Gives back what it gets, and notes that it was called.
#[derive(Clone, Default)]
struct Strict {
    is_called: Arc<AtomicBool>,
}

impl Strict {
    fn give_back<T>(&self, value: T) -> Result<T, InvokeError> {
        self.is_called.store(true, Ordering::Relaxed);
        Ok(value)
    }
}

impl excluded::Market for Strict {
    async fn list(
        &self,
        shops: excluded::Shops,
        _: &Current,
    ) -> Result<excluded::Shops, InvokeError> {
        self.give_back(shops)
    }

    async fn map(
        &self,
        regions: excluded::Regions,
        _: &Current,
    ) -> Result<excluded::Regions, InvokeError> {
        self.give_back(regions)
    }

    async fn one(
        &self,
        branch: excluded::Branch,
        _: &Current,
    ) -> Result<excluded::Branch, InvokeError> {
        self.give_back(branch)
    }

    async fn many(
        &self,
        branches: excluded::Branches,
        _: &Current,
    ) -> Result<excluded::Branches, InvokeError> {
        self.give_back(branches)
    }
}

fn regions() -> allowed::Regions {
    [("north".to_owned(), None)].into()
}

fn branch() -> allowed::Branch {
    allowed::Branch {
        town: "Bern".to_owned(),
        shop: None,
    }
}

#[tokio::test]
async fn a_servant_whose_contract_excludes_nil_is_not_called_with_it_and_its_caller_is_told() {
    let (adapter, strict) = (adapter().await, Strict::default());
    let dispatcher = excluded::MarketDispatcher::new(strict.clone());
    let proxy = adapter.add("market", dispatcher).unwrap();
    let market: allowed::MarketProxy = client(&proxy);
    let shop = Some(chain());

    let shops = market.list(&[shop.clone(), None]).await;
    refused(shops, "byte 13");
    refused(market.map(&regions()).await, "byte 7");
    refused(market.one(&branch()).await, "byte 5");
    refused(market.many(&[branch()]).await, "byte 6");

    assert!(!strict.is_called.load(Ordering::Relaxed));
    let shops = market.list(&[shop]).await;
    assert_eq!(shops.map(|it| it.len()).unwrap(), 1, "the same connection");
}

#[tokio::test]
async fn a_caller_whose_contract_excludes_nil_gets_an_error_for_a_result_that_has_it() {
    let adapter = adapter().await;
    let dispatcher = allowed::MarketDispatcher::new(Careless);
    let proxy = adapter.add("market", dispatcher).unwrap();
    let market: excluded::MarketProxy = client(&proxy);
    let branch = excluded::Branch {
        town: "Bern".to_owned(),
        shop: chain(),
    };

    unmatched(market.list(&[]).await, "byte 1");
    unmatched(market.list(&[chain()]).await, "byte 13");
    unmatched(market.map(&excluded::Regions::new()).await, "byte 7");
    unmatched(market.one(&branch).await, "byte 5");
    unmatched(market.many(&[]).await, "byte 6");
}

/// Checks what the caller of a servant is told, and where the nil proxy is.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, InvokeError>, place: &str) {
    match result {
        Err(InvokeError::System(SystemException::UnknownLocalException(text))) => {
            assert_told(&text, place);
        }
        other => panic!("{other:?}"),
    }
}

/// Checks what a caller is told of a result, and where the nil proxy is.
#[track_caller]
fn unmatched<T: std::fmt::Debug>(result: Result<T, InvokeError>, place: &str) {
    match result {
        Err(error @ InvokeError::BadReply(_)) => {
            assert_told(&error.to_string(), place);
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_told(text: &str, place: &str) {
    let expected = format!(
        "cannot decode proxy at {place}: got a nil proxy, which the contract excludes here with `rust:nonnull`"
    );
    assert!(text.contains(&expected), "expected `{expected}` in {text}");
}

async fn adapter() -> Adapter {
    let server = Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    adapter.activate();
    adapter
}

/// The proxy of another communicator.
fn client<P: TypedProxy>(proxy: &floe::Proxy) -> P {
    Communicator::new().proxy(&proxy.to_string()).unwrap()
}

/// A proxy of 12 bytes: an identity, and no endpoint.
fn chain() -> ChainProxy {
    Communicator::new().proxy("c").unwrap()
}
