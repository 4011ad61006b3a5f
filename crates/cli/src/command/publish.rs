//! `floe pub`: publishes typed events.
//!
//! - `publish/lines.rs`: where events come from
//! - `publish/ahead.rs`: how much of them is read ahead
//! - `publish/pace.rs`: when they leave
//! - `publish/sending.rs`: events on their way
//! - `publish/window.rs`: several requests at a time, in order

mod ahead;
mod lines;
mod pace;
mod sending;
pub(super) mod window;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use floe::{
    Communicator, Context, EncodingVersion, InvokeError, Proxy, SystemException, TypedProxy,
};
use floe_dynamic::{Contract, Operation};
use floe_hub::WAITING_FACET;
use serde_json::{Value as Json, json};

use crate::command::call::{EncodingArgument, no_operation, parse_entry};
use crate::contract::ContractArguments;
use crate::count;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::json_input::{self, Line, Source};
use crate::output::{self, Format, Output};
use crate::peer::{self, TimeoutArgument};
use crate::reconnect::ReconnectArgument;
use crate::router::RouterArguments;
use lines::{Events, Text};
use pace::Pace;
use sending::Sending;

/// Publishes typed events to a topic of a hub or an IceStorm
///
/// An event is an operation of the Slice file, with its parameters. Without JSON, or with -, each line of
/// standard input has the parameters of one event. Several events are under way at a time, in order. Exit code
/// 0 means that the hub has accepted every event, unless you use --oneway or --batch.
///
/// If the hub is lost, the command waits until it is back, and publishes unanswered events again; subscribers
/// may then get an event twice. With --no-reconnect it fails instead. Events of a --batch that was lost with
/// its connection are counted: exit code 6.
///
/// With --file and without an operation, each line is an event as `floe sub` prints it: {"operation":
/// "sampled", "parameters": {...}}, and "context" if there is one. "sequence" and "time", which `floe topic replay`
/// adds, are ignored. A line with "error" or an unknown member is refused.
#[derive(Debug, Args)]
#[command(name = "pub")]
pub(crate) struct Publish {
    /// The topic
    topic: String,

    /// The operation, or ::Module::Interface::name if several interfaces have it. Lines of --file can name it
    /// instead
    #[arg(required_unless_present = "file")]
    operation: Option<String>,

    /// The parameters: an object by name, such as '{"name": "Ada"}', or an array in order, such as '["Ada"]'. A single
    /// parameter that is itself an array stands in an array: '[[1, 2]]'. - reads lines from standard input
    #[arg(allow_negative_numbers = true)]
    json: Option<String>,

    /// Publishes the lines of this file. - means standard input
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    file: Option<PathBuf>,

    /// Replaces placeholders in texts. {{time}} becomes the microseconds since 1970; `n` in the same braces
    /// becomes the number of the event, from 1. A text that is only a placeholder becomes a number
    #[arg(long)]
    template: bool,

    #[command(flatten)]
    contract: ContractArguments,

    #[command(flatten)]
    hub: HubArgument,

    /// Publishes this many events; from standard input or a file, at most this many lines
    #[arg(
        short = 'n',
        long,
        value_name = "COUNT",
        value_parser = count::at_least_one::<u64>
    )]
    count: Option<u64>,

    /// Publishes this many events a second, instead of as many as the hub takes
    #[arg(long, value_name = "EVENTS", value_parser = parse_rate)]
    rate: Option<f64>,

    /// Creates the topic if it does not exist
    #[arg(long)]
    create: bool,

    /// Does not wait until the hub has accepted an event
    #[arg(long)]
    oneway: bool,

    /// Sends many events in one message, and does not wait until the hub has accepted them
    #[arg(long, conflicts_with = "oneway")]
    batch: bool,

    /// Waits while the queue of a subscriber with the policy `block` is full, so that no event is lost. Needs a
    /// Floe hub. --timeout limits the wait for each event. The hub still delivers an event that has waited too
    /// long; if you publish it again, it arrives twice
    // Without an answer nobody would learn that the other side has no such queues.
    #[arg(long, conflicts_with_all = ["oneway", "batch"])]
    wait: bool,

    /// Adds an entry to the context of each event. Can be repeated
    #[arg(
        id = "request_context",
        long = "request-context",
        value_name = "KEY=VALUE",
        value_parser = parse_entry
    )]
    context: Vec<(String, String)>,

    #[command(flatten)]
    encoding: EncodingArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,

    #[command(flatten)]
    reconnect: ReconnectArgument,

    #[command(flatten)]
    router: RouterArguments,
}

impl Publish {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        // What is wrong with what was given goes before what is missing beside it.
        let text = Text::open(self.file.as_deref())?;
        let said = match self.file {
            Some(_) => Source::Lines,
            None => Source::of(self.json.as_deref())?,
        };
        let contract = self.contract.require()?;
        let mut operations = Operations::new(&self, contract);
        let fixed = match &self.operation {
            Some(name) => Some(operations.find(name)?),
            None => None,
        };
        let source = match &fixed {
            Some(operation) => said.for_operation(operation),
            None => said,
        };
        if let (Source::One(json), Some(operation), false) = (&source, &fixed, self.template) {
            // Told without asking a hub.
            encode(operation, json, EncodingVersion::V1_1)?;
        }
        let events = Events::new(source, text, self.count);
        let login = self.router.login()?;
        peer::run_through(login, self.timeout, async |communicator| {
            self.publish(&communicator, operations, fixed, events, output)
                .await
        })
    }

    /// The operation, which must be one that an event can be. The publisher object of a topic has
    /// no types to ask for: whatever it is asked becomes an event.
    fn operation(&self, contract: &Contract, name: &str) -> Result<Operation, Failure> {
        let operation = contract.operation(&self.contract.qualified(name));
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
        mut operations: Operations<'_>,
        fixed: Option<Arc<Operation>>,
        mut events: Events,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let publisher = self.publisher(communicator).await?;
        let encoding = self.encoding.for_proxy(&publisher)?;
        let mut sending = Sending::new(self, communicator, publisher.clone());
        let mut pace = Pace::new(self.rate);
        let result = async {
            let mut same = None;
            while let Some(line) = sending.meanwhile(events.next()).await? {
                let number = sending.begun + 1;
                let event = match (&same, line) {
                    (Some(event), _) => Event::clone(event),
                    (None, line) => {
                        let line = self.filled(line?, number);
                        if fixed.is_none() && lines::is_gap(&line.json) {
                            continue;
                        }
                        operations.event(line, fixed.as_ref(), encoding)?
                    }
                };
                if events.is_same() && !self.template {
                    same = Some(event.clone());
                }
                sending.meanwhile(pace.wait()).await?;
                sending.send(event).await?;
                if self.batch && (self.rate.is_some() || events.is_idle()) {
                    sending.flush().await?;
                }
            }
            sending.finish().await
        };
        let result = result.await;
        if result.is_err() {
            // Those under way may be accepted all the same, and count then.
            let _ = sending.drain().await;
        }
        sending.progress.clear();
        let published = sending.published;
        result.map_err(|failure| after(published, failure))?;
        if let (0, None, None, Some(operation)) = (published, &self.json, &self.file, &fixed) {
            // Nothing was piped in: then what is missing are the parameters.
            encode(operation, &json!({}), encoding)?;
        }
        self.tell(published, pace.elapsed(), output)?;
        Ok(after_losing(sending.lost))
    }

    /// The line with its placeholders replaced, if that was asked for.
    fn filled(&self, mut line: Line, number: u64) -> Line {
        if self.template {
            lines::fill(&mut line.json, number, lines::now());
        }
        line
    }

    /// Returns true if the hub says of each event that it has accepted it.
    fn is_answered(&self) -> bool {
        !self.oneway && !self.batch
    }

    async fn publisher(&self, communicator: &Communicator) -> Result<Proxy, Failure> {
        let topic = self
            .hub
            .topic_for_events(communicator, &self.topic, self.create)
            .await?;
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| self.hub.unanswered(error.into()))?;
        let context: Context = self.context.iter().cloned().collect();
        let publisher = publisher.ice_context(context);
        let publisher = match self.wait {
            true => publisher.ice_facet(WAITING_FACET),
            false => publisher,
        };
        Ok(match (self.oneway, self.batch) {
            (true, _) => publisher.ice_oneway(),
            (_, true) => publisher.ice_batch_oneway(),
            _ => publisher.ice_twoway(),
        })
    }

    /// Why the hub did not accept an event.
    fn not_accepted(&self, error: InvokeError) -> Failure {
        match error {
            InvokeError::System(SystemException::FacetNotExist(_)) if self.wait => {
                Failure::not_found("--wait needs a Floe hub, and this service is not one")
                    .help("omit --wait")
            }
            error => self.hub.unanswered(error.into()),
        }
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

/// How it ends after this many events were lost with their connection.
fn after_losing(lost: u64) -> Exit {
    if lost == 0 {
        return Exit::Success;
    }
    let lost = events(lost);
    output::talk(format_args!("{lost} of a batch lost with their connection"));
    Exit::LossDetected
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

/// An event that is ready to be sent; what is shared is cheap to clone.
#[derive(Debug, Clone)]
struct Event {
    operation: Arc<Operation>,
    parameters: Arc<[u8]>,
    /// Its own, besides that of all.
    context: Context,
}

/// The operations that events have, each looked up once.
struct Operations<'a> {
    arguments: &'a Publish,
    contract: Contract,
    known: HashMap<String, Arc<Operation>>,
}

impl<'a> Operations<'a> {
    fn new(arguments: &'a Publish, contract: Contract) -> Self {
        Self {
            arguments,
            contract,
            known: HashMap::new(),
        }
    }

    fn find(&mut self, name: &str) -> Result<Arc<Operation>, Failure> {
        if let Some(operation) = self.known.get(name) {
            return Ok(operation.clone());
        }
        let operation = Arc::new(self.arguments.operation(&self.contract, name)?);
        self.known.insert(name.to_owned(), operation.clone());
        Ok(operation)
    }

    /// The event of a line: parameters of the fixed operation, or an object that names its own.
    fn event(
        &mut self,
        line: Line,
        fixed: Option<&Arc<Operation>>,
        encoding: EncodingVersion,
    ) -> Result<Event, Failure> {
        let Line { json, place, .. } = line;
        let event = match fixed {
            Some(operation) => event_of(operation.clone(), &json, Context::new(), encoding),
            None => self.named_event(&json, encoding),
        };
        event.map_err(|failure| match place.is_empty() {
            true => failure,
            false => failure.when(place),
        })
    }

    fn named_event(&mut self, json: &Json, encoding: EncodingVersion) -> Result<Event, Failure> {
        let Some(name) = json["operation"].as_str() else {
            let message =
                "expected an object with \"operation\" and \"parameters\", got another value";
            return Err(Failure::usage(message)
                .help("if all lines are parameters of one operation, name it before --file"));
        };
        check_members(json)?;
        let entries = json["context"].as_object().into_iter().flatten();
        let context = entries.map(|(key, value)| (key.clone(), output::bare(value)));
        let nothing = json!({});
        let parameters = json.get("parameters").unwrap_or(&nothing);
        event_of(self.find(name)?, parameters, context.collect(), encoding)
    }
}

/// Refuses an event of which a part would be lost.
fn check_members(json: &Json) -> Result<(), Failure> {
    const MEMBERS: [&str; 5] = ["operation", "parameters", "context", "sequence", "time"];
    if let Some(error) = json.get("error") {
        let error = output::bare(error);
        let message = format!("expected an event, got what `floe sub` could not decode: {error}");
        return Err(Failure::usage(message)
            .help("omit the line, or take the events again with the Slice files that they fit"));
    }
    let mut members = json.as_object().into_iter().flatten();
    if let Some((unknown, _)) = members.find(|(member, _)| !MEMBERS.contains(&member.as_str())) {
        return Err(Failure::usage(format_args!(
            "expected operation, parameters, context, sequence or time, got \"{unknown}\""
        )));
    }
    match json.get("context") {
        Some(context) if !context.is_object() && !context.is_null() => Err(Failure::usage(
            format_args!("expected an object as \"context\", got {context}"),
        )),
        _ => Ok(()),
    }
}

fn event_of(
    operation: Arc<Operation>,
    json: &Json,
    context: Context,
    encoding: EncodingVersion,
) -> Result<Event, Failure> {
    let parameters = encode(&operation, json, encoding)?.into();
    Ok(Event {
        operation,
        parameters,
        context,
    })
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1e-3..=1e9).contains(rate));
    rate.ok_or_else(|| format!("expected events a second, from 0.001 to 1000000000, got `{text}`"))
}
