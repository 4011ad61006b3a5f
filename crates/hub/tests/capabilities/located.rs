//! Subscribers without endpoints, of whom a locator knows where they are.

use std::sync::{Arc, Mutex};

use floe::contracts::ice::{
    AdapterNotFoundException, Locator, LocatorDispatcher, LocatorFindAdapterByIdError,
    LocatorFindObjectByIdError, LocatorRegistryProxy, ObjectNotFoundException,
};
use floe::{Communicator, Current, Identity, InvokeError, Proxy, Settings};
use floe_hub::contracts::floe::SubscriberState;

use crate::world::{Subscribers, World, publish, publisher, soon, subscribe};

/// Knows where one adapter is, `Place`, if it is anywhere.
#[derive(Default)]
struct Registry(Mutex<Option<Proxy>>);

impl Locator for Registry {
    async fn find_object_by_id(
        &self,
        _: Identity,
        _: &Current,
    ) -> Result<Option<Proxy>, LocatorFindObjectByIdError> {
        Err(ObjectNotFoundException {}.into())
    }

    async fn find_adapter_by_id(
        &self,
        id: String,
        _: &Current,
    ) -> Result<Option<Proxy>, LocatorFindAdapterByIdError> {
        let place = self.0.lock().expect("nobody has panicked").clone();
        match place {
            Some(place) if id == "Place" => Ok(Some(place)),
            _ => Err(AdapterNotFoundException {}.into()),
        }
    }

    async fn get_registry(&self, _: &Current) -> Result<Option<LocatorRegistryProxy>, InvokeError> {
        Ok(None)
    }
}

/// A locator, and a hub that asks it.
async fn start() -> (Arc<Registry>, Subscribers, World) {
    let registry = Arc::<Registry>::default();
    let locators = Subscribers::start().await;
    let locator = LocatorDispatcher::new(registry.clone());
    let locator = locators.adapter.add("Floe/Locator", locator);
    let mut settings = Settings::default();
    settings.locator = Some(locator.expect("it is new").reference().clone());
    let hub_side = Communicator::with_settings(settings);
    (registry, locators, World::of(hub_side, |_| ()).await)
}

#[tokio::test]
async fn a_subscriber_that_moves_with_its_adapter_keeps_its_subscription() {
    let (registry, _locators, world) = start().await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    for mode in ["", " -o", " -O"] {
        let text = format!("s{mode} @ Place");
        let subscriber: Proxy = world.client.proxy(&text).unwrap();
        let own = [("retryCount", "-1"), ("locatorCacheTimeout", "3600")];
        subscribe(&topic, &subscriber, &own).await;
        for event in ["before", "after"] {
            let place = Subscribers::start().await;
            let (proxy, mut inbox) = place.add("s");
            *registry.0.lock().unwrap() = Some(proxy);
            publish(&publisher, event).await;
            assert_eq!(inbox.operations(1).await, [event], "{mode}");
            place.stop().await;
        }
        let left = topic.unsubscribe(Some(&subscriber));
        soon(left).await.expect("it is subscribed");
    }
}

#[tokio::test]
async fn a_subscriber_that_the_locator_does_not_know_is_gone_for_good() {
    let (_registry, _locators, world) = start().await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    let subscriber: Proxy = world.client.proxy("s @ Nowhere").unwrap();
    subscribe(&topic, &subscriber, &[("retryCount", "-1")]).await;
    publish(&publisher, "e").await;
    let failed = |state| state == SubscriberState::Failed;
    world
        .info_when("t", |i| i.subscribers.iter().any(|s| failed(s.state)))
        .await;
    publish(&publisher, "e").await;
    let info = world.info_when("t", |i| i.subscribers.is_empty()).await;
    assert_eq!((info.lost.failed, info.lost.removed), (1, 1));
}
