//! Events as they arrive at `floe sub`: from a servant through a bounded queue to standard output.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::RequestFailed;
use floe::{Context, Current, Dispatcher, InvokeError, SystemException};
use floe_dynamic::{Contract, LookupError, Operation};
use floe_hub::contracts::floe::{LoggedEvent, LossListener, Losses};
use serde_json::{Map, Value as Json, json};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::exit::Failure;
use crate::output::{Format, Output};

/// An event as it came.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// The topic, if there are several.
    topic: Option<Arc<str>>,
    operation: String,
    parameters: Bytes,
    context: Context,
    /// Learns that the event was printed, if somebody waits for that.
    printed: Option<oneshot::Sender<()>>,
}

/// An arrival: an event, or the note that so many were lost before the next.
#[derive(Debug)]
enum Arrival {
    Event(Arrived),
    Lost { topic: Option<Arc<str>>, count: i64 },
}

/// Puts every request into a queue, whatever its operation.
#[derive(Debug, Clone)]
pub(crate) struct Servant {
    /// The topic whose events these are, if that is shown.
    topic: Option<Arc<str>>,
    events: mpsc::UnboundedSender<Arrival>,
    /// A permit for each event that may wait.
    room: Arc<Semaphore>,
    /// True if an event is answered only when it was printed.
    awaits_print: bool,
}

/// Puts what the hub says of lost events among the events.
#[derive(Debug)]
pub(crate) struct Gaps(Servant);

/// The events that a servant gets, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Events {
    events: mpsc::UnboundedReceiver<Arrival>,
    room: Arc<Semaphore>,
}

impl Events {
    /// The next event, if it is there.
    fn next_at_once(&mut self) -> Option<Arrival> {
        let event = self.events.try_recv().ok();
        self.room.add_permits(usize::from(event.is_some()));
        event
    }

    /// Blocks until there is an event; none if there will be none any more.
    fn blocking_next(&mut self) -> Option<Arrival> {
        let event = self.events.blocking_recv();
        self.room.add_permits(usize::from(event.is_some()));
        event
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        // After the last event that was wanted nobody listens any more.
        self.room.close();
    }
}

/// A servant, and the events that it gets. A full queue holds up the hub, and not this process. With `awaits_print`, an event
/// is answered only when it was printed: if this process ends before that, the hub still has the event.
pub(crate) fn channel(awaits_print: bool) -> (Servant, Events) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(QUEUE_LEN));
    let servant = Servant {
        topic: None,
        events: sender,
        room: room.clone(),
        awaits_print,
    };
    let events = Events {
        events: receiver,
        room,
    };
    (servant, events)
}

/// Events that may wait to be printed, besides those whose dispatch has begun.
const QUEUE_LEN: usize = 1024;

impl Servant {
    /// The servant of one of several topics: its events are shown with its name.
    pub(crate) fn of_topic(&self, name: &str) -> Self {
        Self {
            topic: Some(name.into()),
            ..self.clone()
        }
    }

    /// A facet that is told of lost events.
    pub(crate) fn gaps(&self) -> Gaps {
        Gaps(Self {
            awaits_print: false,
            ..self.clone()
        })
    }

    async fn put(&self, arrival: Arrival) {
        // Queued before it may have to wait: those that wait go on in any order. Neither fails unless nobody listens any
        // more.
        let _ = self.events.send(arrival);
        if let Ok(permit) = self.room.acquire().await {
            permit.forget();
        }
    }
}

impl Dispatcher for Servant {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Servant {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let (sender, printed) = oneshot::channel();
            let event = Arrived {
                topic: self.topic.clone(),
                operation: request.operation().to_owned(),
                parameters: request.parameters(),
                context: request.current().context(),
                printed: self.awaits_print.then_some(sender),
            };
            self.put(Arrival::Event(event)).await;
            if self.awaits_print && printed.await.is_err() {
                // Nobody prints it any more: it is delivered again to the next subscriber.
                return Err(SystemException::ObjectNotExist(RequestFailed::default()));
            }
            request.returned_nothing()
        })
    }
}

impl LossListener for Gaps {
    async fn lost(
        &self,
        _topic: String,
        count: i64,
        _total: Losses,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let topic = self.0.topic.clone();
        self.0.put(Arrival::Lost { topic, count }).await;
        Ok(())
    }
}

/// Turns events into JSON by a contract.
#[derive(Debug)]
pub(crate) struct EventReader {
    contract: Contract,
    interface: Option<String>,
    /// The operations that were looked up before.
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
        insert_topic(&mut object, event.topic.as_deref());
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

    /// An event of a log, as [`EventReader::read`] gives it.
    pub(crate) fn read_logged(&mut self, event: LoggedEvent) -> Json {
        self.read(&Arrived {
            topic: None,
            operation: event.operation,
            parameters: event.parameters.into(),
            context: event.context,
            printed: None,
        })
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

/// Bytes that are written at once, if so many are there: the system call hardly counts then.
const WRITE_LEN: usize = 64 * 1024;

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
    pub(crate) fn start(mut self, mut events: Events) -> oneshot::Receiver<Printed> {
        let (sender, printed) = oneshot::channel();
        std::thread::spawn(move || {
            // Nobody waits for the result of a command that has ended.
            let _ = sender.send(self.print(&mut events));
        });
        printed
    }

    fn print(&mut self, events: &mut Events) -> Printed {
        let output = Output::new(Some(self.format));
        let mut lines = Vec::new();
        let mut waiting = Vec::new();
        let mut read = 0;
        while self.count != Some(read) {
            let ready = match lines.len() < WRITE_LEN {
                true => events.next_at_once(),
                false => None,
            };
            let arrival = match ready {
                Some(arrival) => arrival,
                None => {
                    // Nothing more is there, or it is enough: people see it now.
                    self.write(&output, &mut lines, &mut waiting, read)?;
                    match events.blocking_next() {
                        Some(arrival) => arrival,
                        None => return Ok(()),
                    }
                }
            };
            let mut event = match arrival {
                Arrival::Event(event) => event,
                Arrival::Lost { topic, count } => {
                    let mut object = Map::new();
                    insert_topic(&mut object, topic.as_deref());
                    object.insert("lost".to_owned(), count.into());
                    lines.extend_from_slice(Json::Object(object).to_string().as_bytes());
                    lines.push(b'\n');
                    continue;
                }
            };
            waiting.extend(event.printed.take());
            let text = text(&self.reader.read(&event), self.format);
            lines.extend_from_slice(output.shown(&text).as_bytes());
            lines.push(b'\n');
            read += 1;
        }
        self.write(&output, &mut lines, &mut waiting, read)
    }

    /// Writes what was collected, in one piece.
    fn write(
        &self,
        output: &Output,
        lines: &mut Vec<u8>,
        waiting: &mut Vec<oneshot::Sender<()>>,
        count: u64,
    ) -> Printed {
        if !lines.is_empty() {
            output.bytes(lines)?;
            lines.clear();
        }
        for printed in waiting.drain(..) {
            // If the connection has ended, the hub delivers the event again.
            let _ = printed.send(());
        }
        self.printed.store(count, Ordering::Release);
        Ok(())
    }
}

/// Writes events of a log to standard output.
pub(crate) struct LoggedPrinter {
    reader: EventReader,
    output: Output,
    lines: Vec<u8>,
}

impl LoggedPrinter {
    /// Prints in this format.
    pub(crate) fn new(reader: EventReader, format: Format) -> Self {
        Self {
            reader,
            output: Output::new(Some(format)),
            lines: Vec::new(),
        }
    }

    /// Prints an event, with its number and time.
    pub(crate) fn print(&mut self, event: LoggedEvent) -> Printed {
        let (number, time) = (event.number, event.time);
        let mut json = self.reader.read_logged(event);
        json["sequence"] = number.into();
        json["time"] = time.into();
        let text = text(&json, self.output.format());
        let text = self.output.shown(&text);
        self.lines.extend_from_slice(text.as_bytes());
        self.lines.push(b'\n');
        match self.lines.len() < WRITE_LEN {
            true => Ok(()),
            false => self.write(),
        }
    }

    /// Prints what is left.
    pub(crate) fn end(mut self) -> Printed {
        self.write()
    }

    fn write(&mut self) -> Printed {
        let lines = std::mem::take(&mut self.lines);
        match lines.is_empty() {
            true => Ok(()),
            false => self.output.bytes(&lines),
        }
    }
}

fn text(json: &Json, format: Format) -> String {
    match format {
        Format::Table => line(json),
        Format::Json | Format::Jsonl => json.to_string(),
        Format::Raw => {
            let bare = json.get("parameters").unwrap_or(&json["error"]);
            bare.to_string()
        }
    }
}

fn insert_topic(object: &mut Map<String, Json>, topic: Option<&str>) {
    if let Some(topic) = topic {
        object.insert("topic".to_owned(), topic.into());
    }
}

/// An event for people.
fn line(json: &Json) -> String {
    let operation = json["operation"].as_str().unwrap_or_default();
    let body = match json.get("parameters") {
        Some(parameters) => parameters.to_string(),
        None => format!("error: {}", json["error"].as_str().unwrap_or_default()),
    };
    let number = json.get("sequence").map(|number| format!("{number} "));
    let topic = json["topic"].as_str().map(|topic| format!("{topic}: "));
    let number = number.or(topic).unwrap_or_default();
    match json.get("context") {
        Some(context) => format!("{number}{operation} {body} context {context}"),
        None => format!("{number}{operation} {body}"),
    }
}

#[cfg(test)]
mod tests {
    use floe::{Communicator, OperationMode, TypedProxy};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn events_that_come_faster_than_they_are_printed_stay_in_order() {
        const COUNT: u32 = 20_000;
        let subscriber = Communicator::new();
        let adapter = subscriber.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let (servant, mut events) = channel(false);
        let own = adapter.add("subscriber", servant).unwrap();
        adapter.activate();
        let reading = tokio::task::spawn_blocking(move || {
            let mut next = || match events.blocking_next() {
                Some(Arrival::Event(event)) => event.parameters,
                other => panic!("expected an event, got {other:?}"),
            };
            (0..COUNT).all(|number| {
                if number % 1000 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                next()[6..] == number.to_le_bytes()
            })
        });
        let hub = Communicator::new();
        let oneway = hub.proxy_from(own.reference().clone()).ice_oneway();
        for number in 0..COUNT {
            let mut parameters = vec![10, 0, 0, 0, 1, 1];
            parameters.extend(number.to_le_bytes());
            let sent = oneway.invoke("tick", OperationMode::Normal, &parameters);
            sent.await.unwrap();
        }
        assert!(reading.await.unwrap(), "every event follows the one before");
    }
}
