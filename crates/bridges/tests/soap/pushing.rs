//! Programs that events are pushed to.

use std::time::{Duration, Instant};

use floe_bridges::core::account::Reason;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::{Joined, texts};

/// A consumer of one connection at a time.
struct Consumer {
    listener: TcpListener,
    stream: Option<TcpStream>,
}

impl Consumer {
    async fn start() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.expect("loopback"),
            stream: None,
        }
    }

    fn url(&self) -> String {
        let address = self.listener.local_addr().expect("an address");
        format!("http://{address}/events?a=b")
    }

    /// The next request, head and body, answered with this status.
    async fn take(&mut self, status: &str) -> String {
        loop {
            let stream = match &mut self.stream {
                Some(stream) => stream,
                none => none.insert(self.listener.accept().await.expect("it connects").0),
            };
            if let Some(request) = request(stream).await {
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.expect("it reads");
                return request;
            }
            self.stream = None;
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let len = head.split("content-length: ").nth(1).expect("a length");
            let len: usize = len
                .lines()
                .next()
                .expect("a line")
                .parse()
                .expect("a number");
            if body.len() >= len {
                return Some(String::from_utf8(bytes).expect("UTF-8"));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

#[tokio::test]
async fn events_are_sent_until_the_consumer_has_them() {
    let joined = Joined::start("").await;
    let mut consumer = Consumer::start().await;
    let subscribed = joined.subscribe(&consumer.url(), "").await;
    assert_eq!(subscribed.status, 200, "{}", subscribed.text);
    joined.publish("a", 1).await;
    let first = consumer.take("503 Service Unavailable").await;
    for part in [
        "POST /events?a=b HTTP/1.1\r\n",
        "soapaction: \"http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer/Notify\"\r\n",
        "<wsa:Action>http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer/Notify</wsa:Action>",
        ">Ticks</wsnt:Topic>",
    ] {
        assert!(first.contains(part), "{first}");
    }
    joined.publish("b", 2).await;
    assert_eq!(texts(&consumer.take("202 Accepted").await), ["a"]);
    // A consumer that was restarted gets the rest.
    consumer.stream = None;
    assert_eq!(texts(&consumer.take("200 OK").await), ["b"]);
    // The count comes after the answer.
    let begun = Instant::now();
    while joined.counts().sent_out < 2 && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(joined.counts().sent_out, 2);
    let ended = joined.post(&subscribed.address(), "<n:Unsubscribe/>").await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    assert_eq!(joined.bridge.state().peer_count, 0);
    joined.end().await;
}

#[tokio::test]
async fn the_subscription_of_a_consumer_that_stays_away_ends_and_is_counted() {
    let joined = Joined::start("away-seconds = 1").await;
    let consumer = Consumer::start().await;
    let subscribed = joined.subscribe(&consumer.url(), "").await;
    assert_eq!(subscribed.status, 200, "{}", subscribed.text);
    assert_eq!(joined.bridge.state().peer_count, 1);
    drop(consumer);
    joined.publish("a", 1).await;
    let begun = Instant::now();
    while joined.bridge.state().peer_count > 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let counts = joined.counts();
    assert_eq!(
        (counts.sent_out, counts.not_crossed),
        (0, vec![(Reason::WorldAway, 1)])
    );
    joined.end().await;
}

#[tokio::test]
async fn events_go_only_where_a_rule_allows() {
    let joined = Joined::start("consumers = [\"127.0.0.1\"]").await;
    for (consumer, expected) in [
        ("http://10.0.0.1/", "is in none of the networks"),
        ("http://127.0.0.2:1/", "is in none of the networks"),
        ("http://[::1]:1/", "is in none of the networks"),
        (
            "http://169.254.169.254/latest/meta-data",
            "is in none of the networks",
        ),
        ("https://127.0.0.1/", "expected http://HOST:PORT/PATH"),
        ("file:///etc/passwd", "expected http://HOST:PORT/PATH"),
        (
            "http://127.0.0.1@10.0.0.1/",
            "expected http://HOST:PORT/PATH",
        ),
    ] {
        let refused = joined.subscribe(consumer, "").await;
        assert_eq!(refused.status, 500);
        assert!(
            refused.text.contains(expected),
            "{consumer}: {}",
            refused.text
        );
        assert!(
            refused.text.contains("SubscribeCreationFailedFault"),
            "{}",
            refused.text
        );
    }
    joined.end().await;
}

#[tokio::test]
async fn events_do_not_go_round_in_a_circle() {
    let joined = Joined::start("away-seconds = 1").await;
    let own = format!("http://{}/", joined.address);
    let subscribed = joined.subscribe(&own, "").await;
    assert_eq!(subscribed.status, 200, "{}", subscribed.text);
    joined.publish("a", 1).await;
    let begun = Instant::now();
    while joined.bridge.state().peer_count > 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(joined.counts().taken_in, 0);
    joined.end().await;
}
