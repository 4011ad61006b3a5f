//! `floe record`: writes the events of topics into a file.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use floe::Communicator;
use floe::codegen::{Answer, Answered, builtin};
use floe::dispatch::Request;
use floe::forwarding::Event;
use floe::hub::{HubClient, Interruption, ServantSubscription};
use mcap::McapError;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::contract::ContractArguments;
use crate::count;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Format, Output};
use crate::peer::{self, parse_time};
use crate::recording::{RecordingFile, RecordingWriter, Schema, View, cause, is_no_event};
use crate::topic_names;

/// Records the events of topics in an MCAP file, for `floe replay` and other tools
///
/// Each topic is a channel of the file, and each event a message in the Ice encoding, with its operation, mode,
/// context and parameters. With --slice the file also holds the types, and the same events as JSON with a JSON schema, which
/// Foxglove and other viewers show and plot: the operation `sampled` of topic `heat` is the channel `heat/sampled`. The command ends at a signal, after --count
/// events, or after --timeout, and completes the file. If it is killed, the file lacks the events of the last second,
/// and in a long recording those of up to a minute. Exit code 6: the hub dropped events for this subscriber. They are
/// counted by topic, also in the file.
///
/// If the hub is lost, the command subscribes again as soon as it can, and says so. The events in between are lost.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The topics, or patterns for the names of those that there are: * stands for any characters, ? for one
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    topics: Vec<String>,

    /// Records all topics that the hub has when the recording begins
    #[arg(long)]
    all: bool,

    /// The file, such as flight.mcap
    #[arg(short = 'f', long, value_name = "FILE")]
    file: PathBuf,

    /// Overwrites the file if there is one
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    contract: ContractArguments,

    /// The form of the events: json adds JSON for viewers, ice does not. With --slice, it is json
    #[arg(long = "as", value_name = "FORM", value_enum)]
    form: Option<Form>,

    #[command(flatten)]
    hub: HubArgument,

    /// Ends after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count::at_least_one::<u64>)]
    count: Option<u64>,

    /// Ends after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,

    /// Creates topics that do not exist
    #[arg(long)]
    create: bool,
}

/// The form of recorded events.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Form {
    /// As they came
    Ice,
    /// As they came, and as JSON
    Json,
}

impl Record {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let schema = self.contract.source_text()?.map(|text| Schema {
            name: self.contract.interface().unwrap_or_default().to_owned(),
            text,
        });
        let view = self.view()?;
        let file = RecordingFile::open(&self.file, self.force);
        let file = file.map_err(|error| not_written(&self.file, &error.into()))?;
        peer::runtime()?.block_on(async {
            let communicator = peer::communicator(Some(PATIENCE));
            let content = (schema, view);
            let result = self.record(&communicator, file, content, output).await;
            peer::end(&communicator, &result).await;
            result
        })
    }

    /// Shows the events to viewers, if that is wanted.
    fn view(&self) -> Result<Option<View>, Failure> {
        match self.form {
            Some(Form::Ice) => Ok(None),
            Some(Form::Json) => Ok(Some(View::new(
                self.contract.require()?,
                self.contract.interface(),
            ))),
            None => {
                let contract = self.contract.load()?;
                Ok(contract.map(|contract| View::new(contract, self.contract.interface())))
            }
        }
    }

    async fn record(
        &self,
        communicator: &Communicator,
        file: RecordingFile,
        (schema, view): (Option<Schema>, Option<View>),
        output: &Output,
    ) -> Result<Exit, Failure> {
        let mut signals = peer::signals()?;
        let topics = tokio::select! {
            topics = self.topics(communicator) => topics.map(Some),
            _ = signals.next() => Ok(None),
        };
        let topics = &match topics {
            Ok(Some(topics)) => topics,
            Ok(None) => {
                file.discard();
                return Ok(Exit::Interrupted);
            }
            Err(failure) => {
                file.discard();
                return Err(failure);
            }
        };
        let (sender, mut events) = mpsc::channel(QUEUE_LEN);
        // Events of the first topics, which come before the others are subscribed to.
        let mut early = Vec::new();
        let subscribed = tokio::select! {
            subscribed = self.subscribe_to_all(communicator, topics, sender) => subscribed.map(Some),
            never = collect(&mut events, &mut early) => match never {},
            _ = signals.next() => Ok(None),
        };
        // A recording that never began is none.
        let subscriptions = match subscribed {
            Ok(Some(subscriptions)) => subscriptions,
            Ok(None) => {
                file.discard();
                return Ok(Exit::Interrupted);
            }
            Err(failure) => {
                file.discard();
                return Err(failure);
            }
        };
        let writer = file.begin(topics, schema.as_ref(), view);
        let writer = writer.map_err(|error| not_written(&self.file, &error))?;
        let (stop, stopped) = watch::channel(());
        let counted = Arc::new(AtomicU64::new(0));
        let count_max = self.count.unwrap_or(u64::MAX);
        let mut writing = tokio::task::spawn_blocking({
            let (counted, runtime) = (counted.clone(), Handle::current());
            move || runtime.block_on(write_all(writer, early, events, count_max, &counted))
        });
        let mut recorded = JoinSet::new();
        for (topic, subscription) in topics.iter().zip(subscriptions) {
            let stopped = stopped.clone();
            recorded.spawn(keep(
                topic.clone(),
                subscription,
                stopped,
                self.hub.clone(),
                communicator.clone(),
            ));
        }
        drop(stopped);
        output::talk(format_args!("recording {}", topic_names::shown(topics)));
        let timeout = async {
            match self.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let mut written = None;
        let exit = tokio::select! {
            // It ends with the last event that is wanted, and if the file cannot be written any more.
            result = &mut writing => {
                written = Some(result);
                Exit::Success
            }
            () = timeout => match self.count {
                Some(_) => Exit::TimedOut,
                None => Exit::Success,
            },
            _ = signals.next() => match (self.count, self.timeout) {
                (None, None) => Exit::Success,
                _ => Exit::Interrupted,
            },
        };
        // The subscriptions end, and with them what is written.
        drop(stop);
        let lost: BTreeMap<String, u64> = recorded.join_all().await.into_iter().collect();
        let written = match written {
            Some(written) => written,
            None => writing.await,
        };
        let written = written.map_err(|error| Failure::new(Exit::Failure, error))?;
        let finished = written.and_then(|writer| writer.finish(&lost));
        finished.map_err(|error| not_written(&self.file, &error))?;
        self.tell(counted.load(Ordering::Acquire), &lost, exit, output)
    }

    /// The topics that are recorded.
    async fn topics(&self, communicator: &Communicator) -> Result<Vec<String>, Failure> {
        let words = match self.all {
            true => &["*".to_owned()],
            false => &self.topics[..],
        };
        topic_names::named(words, &self.hub, communicator).await
    }

    /// Subscribes to each topic; their events go to the sender.
    async fn subscribe_to_all(
        &self,
        communicator: &Communicator,
        topics: &[String],
        sender: mpsc::Sender<Taken>,
    ) -> Result<Vec<ServantSubscription>, Failure> {
        let mut subscriptions = Vec::new();
        for (at, topic) in topics.iter().enumerate() {
            let events = sender.clone();
            let recorder = Recorder { topic: at, events };
            subscriptions.push(self.subscribe(communicator, topic, recorder).await?);
        }
        Ok(subscriptions)
    }

    async fn subscribe(
        &self,
        communicator: &Communicator,
        name: &str,
        recorder: Recorder,
    ) -> Result<ServantSubscription, Failure> {
        // These say what is wrong, and what to do, if there is no such hub or topic.
        let hub = &self.hub;
        hub.topic_for_events(communicator, name, self.create)
            .await?;
        let manager = self.hub.manager(communicator)?.to_string();
        let subscribed = async {
            let hub = HubClient::connect_with(communicator, &manager).await?;
            hub.topic(name).await?.subscribe_servant(recorder).await
        };
        subscribed
            .await
            .map_err(|error| Failure::new(Exit::Refused, error))
    }

    fn tell(
        &self,
        count: u64,
        lost: &BTreeMap<String, u64>,
        exit: Exit,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let total: u64 = lost.values().sum();
        let file = self.file.display();
        if output.format() == Format::Table {
            output::talk(format_args!("recorded {count} events in \"{file}\""));
        } else {
            let summary = json!({
                "file": file.to_string(),
                "recorded": count,
                "lost": total,
            });
            output.value(&summary, &summary["recorded"])?;
        }
        if total == 0 {
            return Ok(exit);
        }
        for (topic, count) in lost.iter().filter(|(_, count)| **count > 0) {
            output::talk(format_args!("{count} events of topic `{topic}` were lost"));
        }
        Ok(Exit::LossDetected)
    }
}

/// Keeps a subscription until it must stop, and ends it. Returns its topic, with the number of events that were lost.
async fn keep(
    topic: String,
    mut subscription: ServantSubscription,
    mut stopped: watch::Receiver<()>,
    hub: HubArgument,
    communicator: Communicator,
) -> (String, u64) {
    let mut lost = 0;
    loop {
        let interruption = tokio::select! {
            interruption = subscription.next_interruption() => interruption,
            _ = stopped.changed() => None,
        };
        match interruption {
            Some(Interruption::Lost { count }) => lost += count,
            Some(interruption) => {
                output::talk(format_args!("topic `{topic}`: {interruption}"));
                // Nobody knows how many were published in the meantime: at least it is no recording without loss.
                let is_back = matches!(interruption, Interruption::Resubscribed { .. });
                lost += u64::from(is_back);
            }
            None => break,
        }
    }
    // The hub tells of a loss with the next event. It has counted those after the last one.
    let counted = hub
        .lost_by(&communicator, &topic, subscription.identity())
        .await;
    lost = lost.max(u64::try_from(counted).unwrap_or(0));
    let _ = tokio::time::timeout(FAREWELL_PATIENCE, subscription.unsubscribe()).await;
    (topic, lost)
}

/// Puts the events of a topic into the queue of the writer. A full queue holds up the hub.
struct Recorder {
    topic: usize,
    events: mpsc::Sender<Taken>,
}

/// An event on its way to the file.
struct Taken {
    topic: usize,
    /// In nanoseconds since 1970.
    time: u64,
    event: Event,
}

impl Answer for Recorder {
    async fn answer(&self, request: Request) -> Answered {
        if is_no_event(request.operation()) {
            return builtin(request, "::Ice::Object", &["::Ice::Object"]);
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let taken = Taken {
            topic: self.topic,
            time: since.map_or(0, |since| {
                u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
            }),
            event: request.event().detached(),
        };
        // It fails after the last event that is wanted.
        let _ = self.events.send(taken).await;
        Ok(request.returned_nothing()?)
    }
}

/// Keeps what comes. The queue must not fill before anything is written: the hub's answers may come over the same connection.
async fn collect(events: &mut mpsc::Receiver<Taken>, early: &mut Vec<Taken>) -> Infallible {
    loop {
        match events.recv().await {
            Some(taken) => early.push(taken),
            None => std::future::pending().await,
        }
    }
}

/// Writes events until there are enough, or until no more can arrive. An event is in the file at the latest an interval of
/// [`flush_interval`] after it came.
async fn write_all(
    mut writer: RecordingWriter,
    early: Vec<Taken>,
    mut events: mpsc::Receiver<Taken>,
    count_max: u64,
    count: &AtomicU64,
) -> Result<RecordingWriter, McapError> {
    let mut early = early.into_iter();
    let mut next = async || match early.next() {
        Some(taken) => Some(taken),
        None => events.recv().await,
    };
    let begun = Instant::now();
    let mut written = 0;
    // `None` if everything is in the file.
    let mut flush_at = None;
    while written < count_max {
        let taken = match flush_at {
            None => next().await,
            Some(time) => match tokio::time::timeout_at(time, next()).await {
                Ok(taken) => taken,
                Err(_) => {
                    writer.flush()?;
                    flush_at = None;
                    continue;
                }
            },
        };
        let Some(taken) = taken else {
            break;
        };
        writer.write(taken.topic, taken.time, taken.event.as_bytes())?;
        written += 1;
        count.store(written, Ordering::Release);
        flush_at.get_or_insert_with(|| Instant::now() + flush_interval(begun.elapsed()));
    }
    Ok(writer)
}

fn not_written(path: &Path, error: &McapError) -> Failure {
    let failure = Failure::new(
        Exit::Failure,
        format_args!("cannot write \"{}\": {}", path.display(), cause(error)),
    );
    match error {
        McapError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            failure.help("give another --file, or --force to overwrite it")
        }
        _ => failure,
    }
}

/// How long the hub may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the hub may take to let go.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(3);

/// How long an event may be in the memory only: a thousandth of the time since the recording began. Each time adds an entry to the
/// index of the file, which is in the memory until the end.
fn flush_interval(age: Duration) -> Duration {
    (age / 1000).clamp(Duration::from_secs(1), Duration::from_secs(60))
}

/// Events that may wait to be written.
const QUEUE_LEN: usize = 1024;
