//! Hubs that register with a locator.

use std::time::Duration;

use floe_hub::{Hub, HubError, HubSettings};

use crate::locator::start;
use crate::world::soon;

fn settings(publishers: &str) -> HubSettings {
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    settings.adapter_id = Some("Topics".to_owned());
    settings.publish_listen = Some("tcp -h 127.0.0.1 -p 0".to_owned());
    settings.publish_adapter_id = Some(publishers.to_owned());
    settings
}

#[tokio::test]
async fn a_hub_that_is_refused_is_registered_nowhere() {
    let (registry, _locators, communicator) = start(Duration::ZERO).await;
    let error = Hub::start(&communicator, settings("Refused")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, HubError::Adapter(_)), "{error:?}");
    assert_eq!(registry.notes(), ["Topics is", "Topics was"]);
}

#[tokio::test]
async fn a_hub_unregisters_even_with_a_short_drain_timeout() {
    let (registry, _locators, communicator) = start(Duration::from_millis(100)).await;
    let mut settings = settings("Doors");
    settings.drain_timeout = Duration::ZERO;
    let hub = Hub::start(&communicator, settings).await.unwrap();
    soon(hub.shutdown()).await;
    let mut notes = registry.notes();
    notes.sort();
    assert_eq!(notes, ["Doors is", "Doors was", "Topics is", "Topics was"]);
}

#[tokio::test]
async fn a_cancelled_start_leaves_no_registration() {
    let (registry, _locators, communicator) = start(Duration::from_millis(100)).await;
    {
        let started = Hub::start(&communicator, settings("Doors"));
        let in_time = tokio::time::timeout(Duration::from_millis(150), started).await;
        assert!(in_time.is_err());
    }
    soon(communicator.shutdown()).await;
    let notes = registry.notes();
    let ends = |id: &str| notes.iter().rfind(|note| note.starts_with(id)).cloned();
    assert_eq!(ends("Topics").as_deref(), Some("Topics was"), "{notes:?}");
    assert_ne!(ends("Doors").as_deref(), Some("Doors is"), "{notes:?}");
}
