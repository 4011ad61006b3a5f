//! Programs that take events when they want to.

use std::time::{Duration, Instant};

use floe_bridges::core::account::Reason;

use crate::fixture::{Joined, texts};

#[tokio::test]
async fn a_pull_point_holds_events_in_order_until_they_are_taken() {
    let joined = Joined::start("").await;
    let (pull_point, subscription) = joined.pull_point().await;
    assert_eq!(joined.get(&pull_point, 10).await, Vec::<String>::new());
    for (text, price) in [("a", 1), ("b", 2), ("c", 3)] {
        joined.publish(text, price).await;
    }
    assert_eq!(joined.take(&pull_point, 2).await, ["a", "b"]);
    assert_eq!(joined.take(&pull_point, 1).await, ["c"]);
    let renewed = joined
        .post(
            &subscription,
            "<n:Renew><n:TerminationTime>PT1H</n:TerminationTime></n:Renew>",
        )
        .await;
    assert_eq!(renewed.status, 200, "{}", renewed.text);
    assert!(
        renewed.text.contains("<wsnt:RenewResponse"),
        "{}",
        renewed.text
    );
    let ended = joined.post(&subscription, "<n:Unsubscribe/>").await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    joined.publish("d", 4).await;
    assert_eq!(joined.get(&pull_point, 10).await, Vec::<String>::new());
    let again = joined.post(&subscription, "<n:Unsubscribe/>").await;
    assert!(
        again.text.contains("UnableToDestroySubscriptionFault"),
        "{}",
        again.text
    );
    let destroyed = joined.post(&pull_point, "<n:DestroyPullPoint/>").await;
    assert_eq!(destroyed.status, 200, "{}", destroyed.text);
    assert_eq!(
        joined.post(&pull_point, "<n:GetMessages/>").await.status,
        500
    );
    joined.end().await;
}

#[tokio::test]
async fn a_request_for_events_waits_for_the_first() {
    let joined = Joined::start("").await;
    let made = joined.post("/", "<o:CreatePullPointSubscription/>").await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert!(
        made.text.contains("<wsnt:TerminationTime>"),
        "{}",
        made.text
    );
    let pull_point = made.address();
    let pull = "<o:PullMessages><o:Timeout>PT30S</o:Timeout><o:MessageLimit>10</o:MessageLimit></o:PullMessages>";
    let begun = Instant::now();
    let (pulled, ()) = tokio::join!(joined.post(&pull_point, pull), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        joined.publish("late", 1).await;
    });
    assert_eq!(texts(&pulled.text), ["late"]);
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "it waited for its time to be over"
    );
    // A program that breaks off loses nothing.
    let broken =
        tokio::time::timeout(Duration::from_millis(50), joined.post(&pull_point, pull)).await;
    assert!(broken.is_err(), "there was nothing to pull");
    joined.publish("next", 2).await;
    assert_eq!(joined.take(&pull_point, 1).await, ["next"]);
    joined.end().await;
}

#[tokio::test]
async fn an_event_that_xml_cannot_say_is_left_out_and_counted() {
    let joined = Joined::start("").await;
    let (pull_point, _) = joined.pull_point().await;
    joined.publish("a\u{1}", 1).await;
    joined.publish("b", 2).await;
    assert_eq!(joined.take(&pull_point, 1).await, ["b"]);
    let counts = joined.counts();
    assert_eq!(
        (counts.sent_out, counts.not_crossed),
        (1, vec![(Reason::CannotBeSaid, 1)])
    );
    joined.end().await;
}

#[tokio::test]
async fn leases_end() {
    let joined = Joined::start("idle-seconds = 1\nlease-seconds = 3600").await;
    let (idle, _) = joined.pull_point().await;
    let made = joined.post("/", "<n:CreatePullPoint/>").await;
    let used = made.address();
    let url = format!("http://{}{used}", joined.address);
    let time = "<n:InitialTerminationTime>PT0.2S</n:InitialTerminationTime>";
    let subscription = joined.subscribe(&url, time).await.address();
    let begun = Instant::now();
    // The pull point that is used stays, and nothing else does.
    loop {
        assert_eq!(joined.get(&used, 10).await, Vec::<String>::new());
        let (_, left) = (
            joined.bridge.state().peers,
            joined.bridge.state().peer_count,
        );
        if left == 0 {
            break;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{left} subscriptions are left"
        );
    }
    assert_eq!(joined.post(&subscription, "<n:Renew/>").await.status, 500);
    assert_eq!(joined.post(&idle, "<n:GetMessages/>").await.status, 500);
    let past = "<n:InitialTerminationTime>2020-01-01T00:00:00Z</n:InitialTerminationTime>";
    let refused = joined.subscribe(&url, past).await;
    assert!(
        refused
            .text
            .contains("UnacceptableInitialTerminationTimeFault"),
        "{}",
        refused.text
    );
    joined.end().await;
}
