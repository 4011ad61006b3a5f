//! A client of GIOP.

use bytes::{Bytes, BytesMut};
use floe_giop::any::{Any, Value};
use floe_giop::cdr::{EncodeError, Encoder, Endian, Format};
use floe_giop::connection::{Connection, ConnectionEvent, ConnectionSettings, Role};
use floe_giop::message::{Outcome, RequestHead, ResponseExpected, Target};
use floe_giop::reference::Ior;
use floe_giop::system_exception::{SystemException, SystemExceptionKind};
use floe_giop::type_code::TypeCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::PATIENCE;

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    connection: Connection<u32>,
    input: BytesMut,
    /// All that was written.
    pub(crate) written: Vec<u8>,
    next: u32,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        Self::connect_with(address, ConnectionSettings::default()).await
    }

    pub(crate) async fn connect_with(address: &str, settings: ConnectionSettings) -> Self {
        Self {
            stream: TcpStream::connect(address).await.expect("it listens"),
            connection: Connection::new(Role::Client, settings),
            input: BytesMut::new(),
            written: Vec::new(),
            next: 0,
        }
    }

    /// Sends a request; returns its number.
    pub(crate) async fn send(
        &mut self,
        key: &[u8],
        operation: &str,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> u32 {
        let head = RequestHead {
            target: Target::Key(Bytes::copy_from_slice(key)),
            operation: operation.to_owned(),
            response: ResponseExpected::Target,
            contexts: Vec::new(),
        };
        self.next += 1;
        let sent = self.connection.send_request(head, self.next, write);
        sent.expect("it has an encoding");
        while let Some(bytes) = self.connection.poll_output() {
            self.written.extend_from_slice(&bytes);
            self.stream.write_all(&bytes).await.expect("it is read");
        }
        self.next
    }

    /// The next reply; `None` if the connection ends.
    pub(crate) async fn receive(&mut self) -> Option<(u32, Outcome)> {
        let receive = async {
            loop {
                let event = self.connection.handle_input(&mut self.input);
                match event.expect("the bridge keeps the protocol") {
                    Some(ConnectionEvent::Reply(number, reply)) => {
                        return Some((number, reply.outcome().expect("it is one")));
                    }
                    Some(ConnectionEvent::Closed(_) | ConnectionEvent::PeerError(_)) => {
                        return None;
                    }
                    Some(other) => panic!("{other:?}"),
                    None => {}
                }
                match self.stream.read_buf(&mut self.input).await {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => {}
                }
            }
        };
        timeout(PATIENCE, receive).await.expect("it answers")
    }

    pub(crate) async fn call(
        &mut self,
        key: &[u8],
        operation: &str,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Outcome {
        let sent = self.send(key, operation, write).await;
        let (number, outcome) = self.receive().await.expect("it stays open");
        assert_eq!(number, sent);
        outcome
    }

    /// The reference that an operation returns, with its key.
    pub(crate) async fn obtain(&mut self, key: &[u8], operation: &str) -> (Ior, Bytes) {
        let outcome = self.call(key, operation, |_| Ok(())).await;
        let Outcome::Results(body) = outcome else {
            panic!("{operation}: {outcome:?}")
        };
        let reference = Ior::decode(&mut body.decoder()).expect("it is a reference");
        let key = reference
            .iiop_profiles()
            .next()
            .expect("it has one")
            .key
            .clone();
        (reference, key)
    }

    /// A proxy of a supplier that is connected.
    pub(crate) async fn supplier(&mut self, channel: &str) -> Bytes {
        let (_, admin) = self.obtain(channel.as_bytes(), "for_suppliers").await;
        let (_, proxy) = self.obtain(&admin, "obtain_push_consumer").await;
        let connected = self
            .call(&proxy, "connect_push_supplier", |to| Ior::NIL.encode(to))
            .await;
        assert!(matches!(connected, Outcome::Results(_)), "{connected:?}");
        proxy
    }

    /// Asks for a proxy of a consumer, and connects the consumer.
    pub(crate) async fn connect_consumer(&mut self, channel: &str, consumer: &Ior) -> Outcome {
        let (_, admin) = self.obtain(channel.as_bytes(), "for_consumers").await;
        let (_, proxy) = self.obtain(&admin, "obtain_push_supplier").await;
        self.call(&proxy, "connect_push_consumer", |to| consumer.encode(to))
            .await
    }

    pub(crate) async fn push(&mut self, proxy: &[u8], code: &TypeCode, value: &Value) -> Outcome {
        let format = Format::utf8(Endian::NATIVE);
        let any = Any::new(code.clone(), value, format).expect("it is of its type");
        self.call(proxy, "push", |to| any.encode(to)).await
    }
}

#[track_caller]
pub(crate) fn exception(outcome: Outcome) -> SystemException {
    match outcome {
        Outcome::SystemException(exception) => exception,
        other => panic!("expected a system exception, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_returned(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Results(_)), "{outcome:?}");
}

/// An exception as (kind, Floe's number).
#[track_caller]
pub(crate) fn refusal(outcome: Outcome) -> (SystemExceptionKind, u32) {
    let exception = exception(outcome);
    let number = exception.minor.checked_sub(floe_bridges::corba::MINOR);
    (exception.kind, number.expect("it is one of ours"))
}
