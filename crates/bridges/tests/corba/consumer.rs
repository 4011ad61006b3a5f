//! A push consumer: a server of GIOP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use floe_giop::any::Any;
use floe_giop::connection::{Connection, ConnectionEvent, ConnectionSettings, Role};
use floe_giop::cos::event::PUSH_CONSUMER_ID;
use floe_giop::message::Request;
use floe_giop::reference::{IiopProfile, Ior};
use floe_giop::system_exception::{SystemException, SystemExceptionKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::fixture::PATIENCE;

/// The answer to a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Take,
    Raise(SystemExceptionKind),
    RaiseDisconnected,
    Close,
    Nothing,
}

/// A consumer: each push is answered as asked for, and by [`Answer::Take`] when nothing is.
pub(crate) struct Consumer {
    pub(crate) reference: Ior,
    /// Operations, and the event if it is a push.
    calls: mpsc::UnboundedReceiver<(String, Option<Any>)>,
    answers: Arc<Mutex<Vec<Answer>>>,
    /// True once a push came before the one before it was answered.
    pub(crate) overlapped: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// The time for which a lazy consumer waits for another push before it answers.
const LAZINESS: Duration = Duration::from_millis(20);

impl Consumer {
    pub(crate) async fn start() -> Self {
        Self::start_with(false).await
    }

    /// One that answers a push only when another one has come, or a moment is over.
    pub(crate) async fn start_lazy() -> Self {
        Self::start_with(true).await
    }

    async fn start_with(is_lazy: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        let profile = IiopProfile::new("127.0.0.1", port, Bytes::from_static(b"me"));
        let (sender, calls) = mpsc::unbounded_channel();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&answers);
        let overlapped = Arc::new(AtomicBool::new(false));
        let seen = is_lazy.then(|| Arc::clone(&overlapped));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(
                    stream,
                    sender.clone(),
                    Arc::clone(&asked),
                    seen.clone(),
                ));
            }
        });
        Self {
            reference: Ior::new(PUSH_CONSUMER_ID, profile.expect("it is short")),
            calls,
            answers,
            overlapped,
            task,
        }
    }

    /// The answers to the next pushes.
    pub(crate) fn answer(&self, answers: &[Answer]) {
        let mut asked = self.answers.lock().expect("nobody panics");
        asked.extend(answers);
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Any {
        match self.call().await {
            (_, Some(event)) => event,
            (operation, None) => panic!("expected a push, got {operation}"),
        }
    }

    pub(crate) async fn call(&mut self) -> (String, Option<Any>) {
        let call = timeout(PATIENCE, self.calls.recv()).await;
        call.expect("it comes").expect("it runs")
    }

    /// Closes its port and its connections.
    pub(crate) async fn vanish(self) -> Ior {
        self.task.abort();
        let _ = self.task.await;
        self.reference
    }
}

async fn serve(
    mut stream: TcpStream,
    calls: mpsc::UnboundedSender<(String, Option<Any>)>,
    answers: Arc<Mutex<Vec<Answer>>>,
    overlapped: Option<Arc<AtomicBool>>,
) {
    let mut connection = Connection::<()>::new(Role::Server, ConnectionSettings::default());
    let mut input = BytesMut::new();
    let mut held = Vec::new();
    loop {
        let event = connection.handle_input(&mut input);
        match event.expect("the bridge keeps the protocol") {
            Some(ConnectionEvent::Request(request)) => {
                if let Some(overlapped) = overlapped.as_ref().filter(|_| !held.is_empty()) {
                    overlapped.store(true, Ordering::Relaxed);
                }
                if !handle(&mut connection, &request, &calls, &answers) {
                    return;
                }
                held.extend(std::iter::from_fn(|| connection.poll_output()));
                if overlapped.is_some() {
                    continue;
                }
            }
            Some(_) => return,
            None if held.is_empty() => match stream.read_buf(&mut input).await {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            },
            // Perhaps another push comes.
            None if held.len() == 1 => match timeout(LAZINESS, stream.read_buf(&mut input)).await {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(_)) => continue,
                Err(_) => {}
            },
            None => {}
        }
        for bytes in held.drain(..) {
            if stream.write_all(&bytes).await.is_err() {
                return;
            }
        }
    }
}

/// False if the connection is to be closed.
fn handle(
    connection: &mut Connection<()>,
    request: &Request,
    calls: &mpsc::UnboundedSender<(String, Option<Any>)>,
    answers: &Mutex<Vec<Answer>>,
) -> bool {
    let is_push = request.head.operation == "push";
    let event = is_push.then(|| Any::decode(&mut request.body.decoder()).expect("it is an any"));
    let mut asked = answers.lock().expect("nobody panics");
    let answer = match is_push && !asked.is_empty() {
        true => asked.remove(0),
        false => Answer::Take,
    };
    let replied = match answer {
        Answer::Take => {
            // The test may have ended.
            let _ = calls.send((request.head.operation.clone(), event));
            connection.reply(request.id, |_| Ok(()))
        }
        Answer::Raise(kind) => {
            let exception = SystemException::not_executed(kind);
            connection.reply_system_exception(request.id, exception)
        }
        Answer::RaiseDisconnected => connection.reply_user_exception(request.id, |encoder| {
            encoder.string("IDL:omg.org/CosEventComm/Disconnected:1.0")
        }),
        Answer::Nothing => Ok(()),
        Answer::Close => return false,
    };
    replied.expect("the bridge waits");
    true
}
