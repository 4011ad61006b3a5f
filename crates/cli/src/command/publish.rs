//! `floe pub`: publishes typed events.

use std::time::{Duration, Instant};

use clap::Args;
use floe::{Communicator, Context, EncodingVersion, Proxy, TypedProxy};
use floe_dynamic::{Contract, Operation};
use serde_json::{Value as Json, json};

use crate::command::call::{EncodingArgument, no_operation, parse_entry};
use crate::contract::ContractArguments;
use crate::exit::{Exit, Failure};
use crate::hub::{HubArgument, not_nil};
use crate::json_input::{self, Line, Source};
use crate::output::{self, Format, Output};
use crate::peer::{self, TimeoutArgument};

/// Publishes typed events to a topic of a hub or an IceStorm
///
/// An event is an operation of the Slice file with its parameters. Without JSON, or with -, each
/// line of standard input is the parameters of an event. Without --oneway the hub has accepted
/// every event when the command ends with 0.
#[derive(Debug, Args)]
#[command(name = "pub")]
pub(crate) struct Publish {
    /// The topic
    topic: String,

    /// The operation; ::Module::Interface::name where several interfaces have one
    operation: String,

    /// The parameters: an object by name, or an array in order; - reads lines of standard input
    #[arg(allow_negative_numbers = true)]
    json: Option<String>,

    #[command(flatten)]
    contract: ContractArguments,

    #[command(flatten)]
    hub: HubArgument,

    /// Publishes this many events; of standard input, at most this many lines
    #[arg(
        short = 'n',
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    count: Option<u64>,

    /// Publishes this many events a second, and not as many as the hub takes
    #[arg(long, value_name = "EVENTS", value_parser = parse_rate)]
    rate: Option<f64>,

    /// Creates the topic if it does not exist
    #[arg(long)]
    create: bool,

    /// Sends events without waiting until the hub has accepted them
    #[arg(long)]
    oneway: bool,

    /// Adds an entry to the context of each event; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_entry)]
    context: Vec<(String, String)>,

    #[command(flatten)]
    encoding: EncodingArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

impl Publish {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let contract = self.contract.require()?;
        let operation = self.operation(&contract)?;
        let source = Source::new(self.json.as_deref(), &operation)?;
        if let Source::One(json) = &source {
            // Told without asking a hub.
            encode(&operation, json, EncodingVersion::V1_1)?;
        }
        peer::run(self.timeout, async |communicator| {
            self.publish(&communicator, &operation, source, output)
                .await
        })
    }

    /// The operation, which must be one that an event can be. The publisher object of a topic has
    /// no types to ask for: whatever it is asked becomes an event.
    fn operation(&self, contract: &Contract) -> Result<Operation, Failure> {
        let operation = contract.operation(&self.contract.qualified(&self.operation));
        let operation = operation.map_err(|error| no_operation(contract, &error))?;
        if operation.returns_data() {
            return Err(Failure::usage(format_args!(
                "`{operation}` returns data or throws, and an event cannot"
            ))
            .help("publish an operation that returns void and throws nothing"));
        }
        Ok(operation)
    }

    async fn publish(
        &self,
        communicator: &Communicator,
        operation: &Operation,
        source: Source,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let publisher = self.publisher(communicator).await?;
        let encoding = self.encoding.for_proxy(&publisher)?;
        let mut events = Events::new(source, self.count);
        let mut pace = Pace::new(self.rate);
        let mut published = 0_u64;
        while let Some(line) = events.next().await {
            let result = async {
                let Line { json, place } = line?;
                let parameters = encode(operation, &json, encoding);
                let parameters = parameters.map_err(|failure| match place.is_empty() {
                    true => failure,
                    false => failure.when(place),
                })?;
                pace.wait().await;
                publisher
                    .invoke(operation.name(), operation.mode(), &parameters)
                    .await
                    .map_err(|error| self.hub.unanswered(error.into()))
            };
            let result: Result<_, Failure> = result.await;
            result.map_err(|failure| after(published, failure))?;
            published += 1;
        }
        if published == 0 && self.json.is_none() {
            // Nothing was piped in: then what is missing are the parameters.
            encode(operation, &json!({}), encoding)?;
        }
        self.tell(published, pace.elapsed(), output)?;
        Ok(Exit::Success)
    }

    async fn publisher(&self, communicator: &Communicator) -> Result<Proxy, Failure> {
        let topic = match self.create {
            true => self.hub.topic_or_create(communicator, &self.topic).await?,
            false => self.hub.topic(communicator, &self.topic).await?,
        };
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| self.hub.unanswered(error.into()))?;
        let publisher = not_nil(publisher, "publisher object")?;
        let context: Context = self.context.iter().cloned().collect();
        let publisher = publisher.ice_context(context);
        Ok(match self.oneway {
            true => publisher.ice_oneway(),
            false => publisher.ice_twoway(),
        })
    }

    fn tell(&self, published: u64, elapsed: Duration, output: &Output) -> Result<(), Failure> {
        let topic = &self.topic;
        if output.format() == Format::Table {
            let events = events(published);
            output::talk(format_args!("published {events} to topic `{topic}`"));
            return Ok(());
        }
        let summary = json!({
            "topic": topic,
            "published": published,
            "seconds": (elapsed.as_secs_f64() * 1e6).round() / 1e6,
        });
        output.value(&summary, &summary["published"])
    }
}

/// Says that some events went well before.
fn after(published: u64, failure: Failure) -> Failure {
    match published {
        0 => failure,
        _ => failure.when(format_args!("after {}", events(published))),
    }
}

fn events(count: u64) -> String {
    match count {
        1 => "1 event".to_owned(),
        _ => format!("{count} events"),
    }
}

fn encode(
    operation: &Operation,
    json: &Json,
    encoding: EncodingVersion,
) -> Result<Vec<u8>, Failure> {
    operation
        .encode_request(json, encoding)
        .map_err(|error| json_input::misfit(&error, operation))
}

/// The parameters of one event after another.
enum Events {
    /// The same, as often as this.
    Same(Json, u64),
    /// What a thread reads from standard input, at most as often as this.
    Lines(tokio::sync::mpsc::Receiver<Result<Line, Failure>>, u64),
}

impl Events {
    fn new(source: Source, count: Option<u64>) -> Self {
        match source {
            Source::One(json) => Self::Same(json, count.unwrap_or(1)),
            Source::Lines => {
                let (sender, receiver) = tokio::sync::mpsc::channel(64);
                // Nobody waits for this thread: it may hang in a read for ever.
                std::thread::spawn(move || {
                    for line in json_input::lines() {
                        if sender.blocking_send(line).is_err() {
                            return;
                        }
                    }
                });
                Self::Lines(receiver, count.unwrap_or(u64::MAX))
            }
        }
    }

    /// The next one; of an argument the place is empty.
    async fn next(&mut self) -> Option<Result<Line, Failure>> {
        match self {
            Self::Same(_, 0) | Self::Lines(_, 0) => None,
            Self::Same(json, left) => {
                *left -= 1;
                Some(Ok(Line {
                    json: json.clone(),
                    place: String::new(),
                }))
            }
            Self::Lines(lines, left) => {
                *left -= 1;
                lines.recv().await
            }
        }
    }
}

/// Spreads events evenly over time.
struct Pace {
    start: Instant,
    interval: Option<Duration>,
    count: u32,
}

impl Pace {
    fn new(rate: Option<f64>) -> Self {
        Self {
            start: Instant::now(),
            interval: rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            count: 0,
        }
    }

    /// Waits until the next event is due.
    async fn wait(&mut self) {
        if let Some(interval) = self.interval {
            let due = self.start + interval.mul_f64(f64::from(self.count));
            tokio::time::sleep_until(due.into()).await;
            self.count = self.count.saturating_add(1);
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1e-3..=1e9).contains(rate));
    rate.ok_or_else(|| format!("expected events a second, from 0.001 to 1000000000, got `{text}`"))
}
