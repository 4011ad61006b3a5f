//! Events as they arrive at `floe sub`: from a servant through a bounded queue to standard output.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use floe::{Context, DispatchFuture, Dispatcher, Request};
use floe_dynamic::{Contract, LookupError, Operation};
use serde_json::{Map, Value as Json, json};
use tokio::sync::{mpsc, oneshot};

use crate::exit::Failure;
use crate::output::{Format, Output};

/// An event as it came.
#[derive(Debug)]
pub(crate) struct Arrived {
    operation: String,
    parameters: Bytes,
    context: Context,
}

/// Puts every request into a queue, whatever its operation.
#[derive(Debug)]
pub(crate) struct Servant {
    events: mpsc::Sender<Arrived>,
}

/// A servant, and the events that it gets. A full queue holds up the hub, and not this process.
pub(crate) fn channel() -> (Servant, mpsc::Receiver<Arrived>) {
    let (sender, receiver) = mpsc::channel(QUEUE_LEN);
    (Servant { events: sender }, receiver)
}

/// Events that may wait to be printed.
const QUEUE_LEN: usize = 1024;

impl Dispatcher for Servant {
    fn dispatch(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let event = Arrived {
                operation: request.operation().to_owned(),
                parameters: request.parameters(),
                context: request.current().context(),
            };
            // After the last event that was wanted nobody listens any more.
            let _ = self.events.send(event).await;
            request.returned_nothing()
        })
    }
}

/// Turns events into JSON by a contract.
#[derive(Debug)]
pub(crate) struct EventReader {
    contract: Contract,
    interface: Option<String>,
    /// What was looked up before.
    operations: HashMap<String, Result<Operation, LookupError>>,
}

impl EventReader {
    /// Reads events whose operations are in this contract, or in one interface of it.
    pub(crate) fn new(contract: Contract, interface: Option<&str>) -> Self {
        Self {
            contract,
            interface: interface.map(str::to_owned),
            operations: HashMap::new(),
        }
    }

    /// The event as an object; one that does not fit has `error` in place of `parameters`.
    pub(crate) fn read(&mut self, event: &Arrived) -> Json {
        let mut object = Map::new();
        object.insert("operation".to_owned(), event.operation.as_str().into());
        match self.parameters(event) {
            Ok(parameters) => object.insert("parameters".to_owned(), parameters),
            Err(error) => object.insert("error".to_owned(), error.into()),
        };
        if !event.context.is_empty() {
            object.insert("context".to_owned(), json!(event.context));
        }
        Json::Object(object)
    }

    fn parameters(&mut self, event: &Arrived) -> Result<Json, String> {
        let operation = self.operation(&event.operation).as_ref();
        let operation = operation.map_err(|error| match error {
            LookupError::Ambiguous { .. } => format!("{error}; add --interface"),
            error => error.to_string(),
        })?;
        operation
            .decode_request(&event.parameters)
            .map_err(|error| format!("not what `{operation}` takes: {error}"))
    }

    fn operation(&mut self, name: &str) -> &Result<Operation, LookupError> {
        // A peer must not fill the memory with names that it makes up.
        if self.operations.len() >= OPERATION_MAX && !self.operations.contains_key(name) {
            self.operations.clear();
        }
        let (contract, interface) = (&self.contract, &self.interface);
        self.operations
            .entry(name.to_owned())
            .or_insert_with(|| match interface {
                Some(interface) => contract.operation(&format!("{interface}::{name}")),
                None => contract.operation(name),
            })
    }
}

/// Operations that are remembered.
const OPERATION_MAX: usize = 1024;

/// Writes events to standard output.
#[derive(Debug)]
pub(crate) struct Printer {
    reader: EventReader,
    format: Format,
    /// How many are wanted.
    count: Option<u64>,
    /// How many were printed.
    printed: Arc<AtomicU64>,
}

/// How printing ended: with all that was wanted, or because it could not go on.
pub(crate) type Printed = Result<(), Failure>;

impl Printer {
    /// Prints at most `count` events.
    pub(crate) fn new(reader: EventReader, format: Format, count: Option<u64>) -> Self {
        Self {
            reader,
            format,
            count,
            printed: Arc::default(),
        }
    }

    /// How many events were printed, to be asked at any time.
    pub(crate) fn printed(&self) -> Arc<AtomicU64> {
        self.printed.clone()
    }

    /// Prints from a thread of its own, so that a reader who does not read keeps no signal from
    /// being seen. Nobody waits for it.
    pub(crate) fn start(
        mut self,
        mut events: mpsc::Receiver<Arrived>,
    ) -> oneshot::Receiver<Printed> {
        let (sender, printed) = oneshot::channel();
        std::thread::spawn(move || {
            // Nobody waits for the result of a command that has ended.
            let _ = sender.send(self.print(&mut events));
        });
        printed
    }

    fn print(&mut self, events: &mut mpsc::Receiver<Arrived>) -> Printed {
        let output = Output::new(Some(self.format));
        let mut printed = 0;
        while self.count != Some(printed) {
            let Some(event) = events.blocking_recv() else {
                return Ok(());
            };
            let json = self.reader.read(&event);
            match self.format {
                Format::Table => output.line(line(&json))?,
                Format::Json | Format::Jsonl => output.line(&json)?,
                Format::Raw => output.line(json.get("parameters").unwrap_or(&json["error"]))?,
            }
            printed += 1;
            self.printed.store(printed, Ordering::Release);
        }
        Ok(())
    }
}

/// An event for people.
fn line(json: &Json) -> String {
    let operation = json["operation"].as_str().unwrap_or_default();
    let body = match json.get("parameters") {
        Some(parameters) => parameters.to_string(),
        None => format!("error: {}", json["error"].as_str().unwrap_or_default()),
    };
    match json.get("context") {
        Some(context) => format!("{operation} {body} context {context}"),
        None => format!("{operation} {body}"),
    }
}
