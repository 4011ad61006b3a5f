//! `floe replay`: publishes the events of a recording.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use floe::encoding::Decoder;
use floe::forwarding::EventParts;
use floe::message::Outcome;
use floe::{Communicator, Connection, Context, EncodingVersion, InvokeError, Proxy, TypedProxy};
use serde_json::json;
use tokio::time::Instant;

use super::publish::window::{self, Window};
use crate::count;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Format, Output};
use crate::peer::{self, TimeoutArgument, parse_time};
use crate::recording::{ReadAhead, RecordedEvent, RecordingError, RecordingReader, is_no_event};
use floe_server::dead_letters::remove_number;

/// Publishes the events of an MCAP file that `floe record` made
///
/// `floe topic replay` shows or publishes the events in the log of a durable topic, and needs no file.
///
/// Each event goes to the topic from which it was recorded, with its operation, context and parameters. The time
/// between two events is the time between them in the recording. Exit code 0: the hub has accepted every event of the
/// file. 6: the file ends early, or has messages that are not events. The events are published, and the others
/// counted.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The recording
    file: PathBuf,

    /// Publishes only the events of these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,

    #[command(flatten)]
    hub: HubArgument,

    /// How fast: 2 is twice as fast as it was recorded, max as fast as the hub takes the events
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse_speed)]
    speed: Speed,

    /// Where to begin, counted from the first event of the recording
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    from: Duration,

    /// Where to end, counted from the first event of the recording
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<Duration>,

    /// Publishes the recording this many times; without COUNT until it is interrupted
    #[arg(long = "loop", value_name = "COUNT", num_args = 0..=1, default_missing_value = "18446744073709551615", value_parser = count::at_least_one::<u64>)]
    rounds: Option<u64>,

    /// Creates topics that do not exist
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

/// How fast events follow one another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Speed {
    Times(f64),
    Max,
}

impl Replay {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        // Told without asking a hub.
        self.open()?;
        peer::run(self.timeout, async |communicator| {
            self.replay(&communicator, output).await
        })
    }

    fn open(&self) -> Result<RecordingReader<File>, Failure> {
        let file = File::open(&self.file).map_err(|error| self.unreadable(&error.into()))?;
        Ok(RecordingReader::new(file))
    }

    async fn replay(&self, communicator: &Communicator, output: &Output) -> Result<Exit, Failure> {
        let mut sending = Sending {
            replay: self,
            communicator,
            topics: HashMap::new(),
            published: 0,
        };
        let mut lost = 0;
        for _ in 0..self.rounds.unwrap_or(1) {
            let before = sending.published;
            let round = self.round(&mut sending).await;
            let drained = sending.drain().await;
            let published = sending.published;
            let result = round.and_then(|lost| drained.map(|()| lost));
            lost =
                result.map_err(|failure| failure.when(format_args!("after {published} events")))?;
            if published == before {
                // Another round would find nothing, either.
                break;
            }
        }
        self.tell(sending.published, lost, output)
    }

    /// Publishes the recording once. Returns how much of the file could not be published.
    async fn round(&self, sending: &mut Sending<'_>) -> Result<u64, Failure> {
        let mut events = ReadAhead::start(self.open()?);
        let start = Instant::now();
        let mut first_time = None;
        while let Some(event) = events.next().await {
            let first_time = *first_time.get_or_insert(event.time);
            let after = Duration::from_nanos(event.time.saturating_sub(first_time));
            if self.to.is_some_and(|to| after > to) {
                break;
            }
            if after < self.from || !self.is_wanted(&event.topic) || is_check(&event) {
                continue;
            }
            if let Speed::Times(times) = self.speed {
                let due = (after - self.from).div_f64(times);
                sending.wait_until(start + due).await?;
            }
            sending.send(event).await?;
        }
        let read = events
            .end()
            .await
            .map_err(|error| Failure::new(Exit::Failure, error))?;
        let reader = read.map_err(|error| self.unreadable(&error))?;
        Ok(reader.skipped() + u64::from(reader.is_cut()))
    }

    fn is_wanted(&self, topic: &str) -> bool {
        self.topics.is_empty() || self.topics.iter().any(|wanted| wanted == topic)
    }

    fn tell(&self, published: u64, lost: u64, output: &Output) -> Result<Exit, Failure> {
        let file = self.file.display();
        if output.format() == Format::Table {
            output::talk(format_args!("published {published} events of \"{file}\""));
        } else {
            let summary = json!({
                "file": file.to_string(),
                "published": published,
                "lost": lost,
            });
            output.value(&summary, &summary["published"])?;
        }
        if lost == 0 {
            return Ok(Exit::Success);
        }
        output::talk(format_args!(
            "\"{file}\" ends early or holds messages that are no events; events missing: at least {lost}"
        ));
        Ok(Exit::LossDetected)
    }

    fn unreadable(&self, error: &RecordingError) -> Failure {
        let file = self.file.display();
        Failure::usage(format_args!(
            "cannot read the recording \"{file}\": {error}"
        ))
    }
}

/// Events on their way to the hub.
struct Sending<'a> {
    replay: &'a Replay,
    communicator: &'a Communicator,
    topics: HashMap<Arc<str>, Topic>,
    /// How many events the hub has accepted.
    published: u64,
}

/// The publisher object of a topic, and the events that it has not answered.
struct Topic {
    publisher: Proxy,
    window: Window<Result<Option<Outcome>, InvokeError>, Connection>,
}

impl Sending<'_> {
    /// Begins to publish an event, once there is room for it.
    async fn send(&mut self, event: RecordedEvent) -> Result<(), Failure> {
        if !self.topics.contains_key(&event.topic) {
            let topic = self.topic(&event.topic).await?;
            self.topics.insert(event.topic.clone(), topic);
        }
        let Some(topic) = self.topics.get_mut(&event.topic) else {
            return Ok(());
        };
        let unanswered = |error: InvokeError| self.replay.hub.unanswered(error.into());
        let len_max = window::len_max(event.bytes.len());
        let mut connection = topic.publisher.ice_cached_connection();
        while !topic.window.has_room(connection.as_ref(), len_max) {
            if let Some(result) = topic.window.next().await {
                result.map_err(unanswered)?;
                self.published += 1;
            }
            connection = topic.publisher.ice_cached_connection();
        }
        if connection.is_none() {
            connection = topic.publisher.ice_connection().await.map_err(unanswered)?;
        }
        let publisher = topic.publisher.clone();
        let sent = async move { publish(&publisher, &event).await };
        topic.window.start(connection, sent).await;
        Ok(())
    }

    /// Waits until a time. What the hub answers until then is taken.
    async fn wait_until(&mut self, due: Instant) -> Result<(), Failure> {
        if due <= Instant::now() {
            return Ok(());
        }
        self.drain().await?;
        tokio::time::sleep_until(due).await;
        Ok(())
    }

    /// Waits until the hub has answered all events.
    async fn drain(&mut self) -> Result<(), Failure> {
        for topic in self.topics.values_mut() {
            while let Some(result) = topic.window.next().await {
                result.map_err(|error| self.replay.hub.unanswered(error.into()))?;
                self.published += 1;
            }
        }
        Ok(())
    }

    async fn topic(&self, name: &str) -> Result<Topic, Failure> {
        let hub = &self.replay.hub;
        let topic = hub
            .topic_for_events(self.communicator, name, self.replay.create)
            .await?;
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| hub.unanswered(error.into()))?;
        Ok(Topic {
            publisher: publisher.ice_twoway(),
            window: Window::new(),
        })
    }
}

async fn publish(publisher: &Proxy, event: &RecordedEvent) -> Result<Option<Outcome>, InvokeError> {
    let parts = EventParts::parse(&event.bytes).expect("the reader has checked it");
    let operation = operation(&parts);
    let mut decoder = Decoder::new(parts.context, EncodingVersion::V1_0);
    let mut context: Context = decoder.get().expect("the reader has checked it");
    remove_number(&mut context);
    let publisher = match context.is_empty() {
        true => publisher.clone(),
        false => publisher.ice_context(context),
    };
    publisher
        .invoke(operation, parts.mode, parts.parameters)
        .await
}

fn operation<'a>(parts: &EventParts<'a>) -> &'a str {
    let mut decoder = Decoder::new(parts.head, EncodingVersion::V1_0);
    decoder.str("operation").expect("the reader has checked it")
}

/// Returns true if a subscription was checked with it: earlier versions recorded that as if it were an event.
fn is_check(event: &RecordedEvent) -> bool {
    let parts = EventParts::parse(&event.bytes).expect("the reader has checked it");
    is_no_event(operation(&parts))
}

fn parse_speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let factor = text
        .parse()
        .ok()
        .filter(|factor| (1e-3..=1e6).contains(factor));
    factor
        .map(Speed::Times)
        .ok_or_else(|| format!("expected a factor from 0.001 to 1000000, or max, got `{text}`"))
}
