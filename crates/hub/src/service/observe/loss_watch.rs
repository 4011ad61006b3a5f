//! Looks for losses every few seconds.

use std::sync::Weak;
use std::time::Duration;

use super::status;
use crate::service::registry::Registry;

/// The time of a loss is known this exactly. Looking at a subscriber takes well below a microsecond.
const INTERVAL: Duration = Duration::from_secs(5);

/// Looks until the registry is gone.
pub(crate) async fn watch(registry: Weak<Registry>) {
    loop {
        let Some(own) = registry.upgrade() else {
            return;
        };
        look(&own).await;
        drop(own);
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Looks now.
pub(crate) async fn look(registry: &Registry) {
    let refused = status::refused_count(registry);
    let losses = registry.recent_losses();
    losses.look(registry.directory(), refused).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::service::registry::tests::World;
    use crate::service::subscriber::Subscriber;

    #[tokio::test]
    async fn a_loss_has_its_place_also_when_its_subscriber_has_left() {
        let world = World::new();
        let topic = world.create("t");
        let (one, other) = (
            world.subscribe(&topic, "one"),
            world.subscribe(&topic, "other"),
        );
        let losses = world.registry.recent_losses();
        let fail = |subscriber: &Arc<Subscriber>, count| {
            let mut own = subscriber.lock();
            own.subscription.handle_read(count, 1);
            own.subscription.handle_dead(count);
        };
        fail(&one, 2);
        look(&world.registry).await;
        fail(&one, 3);
        fail(&other, 4);
        let identities = [other.identity().clone()];
        world.registry.unsubscribe(&topic, &identities).unwrap();
        for _ in 0..2 {
            look(&world.registry).await;
        }
        let found = losses.within(Duration::from_secs(3600));
        let mut counts: Vec<_> = found
            .places
            .iter()
            .map(|it| {
                (
                    it.place.topic.as_str(),
                    it.place.subscriber.as_str(),
                    it.lost.failed,
                )
            })
            .collect();
        counts.sort_unstable();
        assert_eq!(counts, [("t", "one", 5), ("t", "other", 4)]);
        assert_eq!(found.sum.failed, 9);
    }
}
