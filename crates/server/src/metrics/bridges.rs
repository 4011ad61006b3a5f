//! The metrics of bridges to other worlds.

use std::fmt;

use floe_bridges::contracts::floe::{BridgeStatus, BridgedTopic};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::rows::{Labels, Rows};

/// All bridges at one moment.
#[derive(Debug)]
pub(crate) struct BridgeMetrics(pub(crate) Vec<BridgeStatus>);

impl Collector for BridgeMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut rows = Rows(&mut encoder);
        let bridges = self.0.iter();
        let peers = bridges.map(|it| (of_bridge(it), i64::from(it.peer_count)));
        rows.gauges(
            "floe_bridge_peers",
            "Programs of another world that are there",
            peers,
        )?;
        let bridges = self.0.iter();
        let troubles = bridges.map(|it| (of_bridge(it), i64::from(!it.trouble.is_empty())));
        let help = "1 if something that the bridge needs is away";
        rows.gauges("floe_bridge_trouble", help, troubles)?;
        let help = "Events of another world that the hub has";
        let taken_in = self
            .topics()
            .map(|(labels, topic)| (labels, topic.taken_in));
        rows.counters("floe_bridge_taken_in", help, taken_in)?;
        let help = "Events of the hub that another world has, for each subscriber there";
        let sent_out = self
            .topics()
            .map(|(labels, topic)| (labels, topic.sent_out));
        rows.counters("floe_bridge_sent_out", help, sent_out)?;
        let help = "Events that did not cross a bridge, by reason";
        let not_crossed = self.topics().flat_map(|(labels, topic)| {
            let reasons = topic.not_crossed.iter();
            reasons.map(move |it| {
                let mut labels = labels.clone();
                labels.push(("reason", it.reason.clone()));
                (labels, it.count)
            })
        });
        rows.counters("floe_bridge_not_crossed", help, not_crossed)
    }
}

impl BridgeMetrics {
    fn topics(&self) -> impl Iterator<Item = (Labels, &BridgedTopic)> {
        self.0.iter().flat_map(|bridge| {
            let topics = bridge.topics.iter();
            topics.map(|topic| {
                let mut labels = of_bridge(bridge);
                labels.push(("topic", topic.topic.clone()));
                (labels, topic)
            })
        })
    }
}

fn of_bridge(bridge: &BridgeStatus) -> Labels {
    vec![("world", bridge.world.clone())]
}

#[cfg(test)]
mod tests {
    use floe_bridges::contracts::floe::NotCrossed;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn a_bridge_tells_of_its_programs_and_events() {
        let topic = BridgedTopic {
            topic: "ticks".to_owned(),
            taken_in: 3,
            sent_out: 5,
            not_crossed: vec![NotCrossed {
                reason: "malformed".to_owned(),
                count: 2,
            }],
            ..BridgedTopic::default()
        };
        let bridge = BridgeStatus {
            world: "amqp".to_owned(),
            peer_count: 4,
            trouble: "the hub is away".to_owned(),
            topics: vec![topic],
            ..BridgeStatus::default()
        };
        let mut registry = Registry::default();
        registry.register_collector(Box::new(BridgeMetrics(vec![bridge])));
        let mut page = String::new();
        text::encode(&mut page, &registry).expect("a text takes it");
        for line in [
            "floe_bridge_peers{world=\"amqp\"} 4",
            "floe_bridge_trouble{world=\"amqp\"} 1",
            "floe_bridge_taken_in_total{world=\"amqp\",topic=\"ticks\"} 3",
            "floe_bridge_sent_out_total{world=\"amqp\",topic=\"ticks\"} 5",
            "floe_bridge_not_crossed_total{world=\"amqp\",topic=\"ticks\",reason=\"malformed\"} 2",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }
}
