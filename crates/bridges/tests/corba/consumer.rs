//! A push consumer: a server of GIOP.

use std::sync::{Arc, Mutex};

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
    task: JoinHandle<()>,
}

impl Consumer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        let profile = IiopProfile::new("127.0.0.1", port, Bytes::from_static(b"me"));
        let (sender, calls) = mpsc::unbounded_channel();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&answers);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, sender.clone(), Arc::clone(&asked)));
            }
        });
        Self {
            reference: Ior::new(PUSH_CONSUMER_ID, profile.expect("it is short")),
            calls,
            answers,
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
) {
    let mut connection = Connection::<()>::new(Role::Server, ConnectionSettings::default());
    let mut input = BytesMut::new();
    loop {
        match connection
            .handle_input(&mut input)
            .expect("the bridge keeps the protocol")
        {
            Some(ConnectionEvent::Request(request)) => {
                if !handle(&mut connection, &request, &calls, &answers) {
                    return;
                }
            }
            Some(_) => return,
            None => match stream.read_buf(&mut input).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            },
        }
        while let Some(bytes) = connection.poll_output() {
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
