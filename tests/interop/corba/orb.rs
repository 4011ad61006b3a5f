//! A small blocking ORB over the crate: a server with a naming service and an event channel, and a client.
//!
//! Code for tests: a thread for each connection, no timeouts but those of sockets, and events are delivered while the
//! supplier waits.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use floe_giop::cdr::{Decoder, EncodeError, Encoder};
use floe_giop::connection::{Connection, ConnectionEvent, ConnectionSettings, Role};
use floe_giop::cos::event::{ChannelEvent, ConsumerId, EventChannel};
use floe_giop::cos::naming::{Name, NamingService};
use floe_giop::cos::{Raised, References};
use floe_giop::message::{LocateStatus, Outcome, Request, RequestHead, ResponseExpected, Target};
use floe_giop::reference::{IiopProfile, Ior};
use floe_giop::system_exception::SystemExceptionKind;

/// An operation of a servant: its name, its arguments and its results.
pub(crate) type Servant =
    Box<dyn FnMut(&str, &mut Decoder<'_>, &mut Encoder) -> Result<(), Raised> + Send>;

/// A server. Its threads end with the test program.
#[derive(Clone)]
pub(crate) struct Orb {
    pub(crate) port: u16,
    world: Arc<Mutex<World>>,
}

struct World {
    naming: NamingService,
    channel: EventChannel,
    /// Connections to consumers.
    consumers: HashMap<ConsumerId, Client>,
    servants: HashMap<Bytes, Servant>,
    references: References,
    settings: ConnectionSettings,
    /// All bytes of the first connection, from the client and from the server.
    recorded: Vec<(bool, Vec<u8>)>,
}

impl Orb {
    /// A server on a free port, whose naming service has the channel as `events/ticks`.
    pub(crate) fn start(settings: ConnectionSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        let mut profile = IiopProfile::new("127.0.0.1", port, Bytes::new()).expect("it is short");
        profile.version = settings.version;
        let references = References::new(profile);
        let mut naming = NamingService::new(references.clone());
        let channel = EventChannel::new(references.clone(), Bytes::from_static(b"Ticks"));
        let context = naming_context(&mut naming);
        let world = World {
            naming,
            channel,
            consumers: HashMap::new(),
            servants: HashMap::new(),
            references,
            settings,
            recorded: Vec::new(),
        };
        let orb = Self {
            port,
            world: Arc::new(Mutex::new(world)),
        };
        {
            let mut world = orb.world.lock().expect("no thread panics");
            let reference = world.channel.reference();
            world.bind_in(&context, "ticks", &reference);
        }
        let accepting = orb.clone();
        thread::spawn(move || {
            for (at, stream) in listener.incoming().flatten().enumerate() {
                let orb = accepting.clone();
                thread::spawn(move || orb.serve(stream, at == 0));
            }
        });
        orb
    }

    /// The address of the naming service.
    pub(crate) fn naming(&self) -> String {
        format!("corbaloc:iiop:1.2@127.0.0.1:{}/NameService", self.port)
    }

    /// The object that is bound to a name below the root.
    pub(crate) fn resolve(&self, name: &str) -> Ior {
        let name = Name::parse(name).expect("it is a name");
        let world = self.world.lock().expect("no thread panics");
        world.naming.resolve(&name).expect("it is bound")
    }

    /// Serves an object, and binds it below the root of the naming service. Returns its reference.
    pub(crate) fn serve_object(&self, type_id: &str, name: &str, servant: Servant) -> Ior {
        let key = Bytes::copy_from_slice(name.as_bytes());
        let mut world = self.world.lock().expect("no thread panics");
        let reference = world.references.to(type_id, key.clone());
        world.servants.insert(key, servant);
        let name = Name::parse(name).expect("it is a name");
        world
            .naming
            .bind(&name, reference.clone())
            .expect("it is free");
        reference
    }

    /// The bytes of the first connection so far: true for those of the client.
    pub(crate) fn recorded(&self) -> Vec<(bool, Vec<u8>)> {
        self.world
            .lock()
            .expect("no thread panics")
            .recorded
            .clone()
    }

    /// The number of consumers that are connected.
    pub(crate) fn consumer_count(&self) -> usize {
        self.world
            .lock()
            .expect("no thread panics")
            .channel
            .consumers()
            .count()
    }

    fn serve(&self, mut stream: TcpStream, is_recorded: bool) {
        let settings = self
            .world
            .lock()
            .expect("no thread panics")
            .settings
            .clone();
        let mut connection = Connection::<()>::new(Role::Server, settings);
        let mut input = BytesMut::new();
        let mut buffer = [0; 64 * 1024];
        loop {
            let event = connection.handle_input(&mut input);
            let is_broken = event.is_err();
            let is_idle = matches!(event, Ok(None));
            match event {
                Ok(Some(ConnectionEvent::Request(request))) => {
                    self.handle(&mut connection, request)
                }
                Ok(Some(ConnectionEvent::Locate(request))) => {
                    let key = request.target.key().cloned().unwrap_or_default();
                    let is_here = self.world.lock().expect("no thread panics").has(&key);
                    let status = match is_here {
                        true => LocateStatus::ObjectHere,
                        false => LocateStatus::UnknownObject,
                    };
                    connection
                        .reply_locate(request.id, &status)
                        .expect("it waits");
                }
                Ok(Some(ConnectionEvent::Closed(_))) => return,
                Ok(_) => {}
                Err(error) => eprintln!("a client broke the protocol: {error}"),
            }
            while let Some(bytes) = connection.poll_output() {
                self.record(is_recorded, false, &bytes);
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            if is_broken {
                return;
            }
            if is_idle {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => return,
                    Ok(len) => {
                        self.record(is_recorded, true, &buffer[..len]);
                        input.extend_from_slice(&buffer[..len]);
                    }
                }
            }
        }
    }

    fn record(&self, is_recorded: bool, is_from_client: bool, bytes: &[u8]) {
        if is_recorded {
            let mut world = self.world.lock().expect("no thread panics");
            world.recorded.push((is_from_client, bytes.to_vec()));
        }
    }

    fn handle(&self, connection: &mut Connection<()>, request: Request) {
        let mut world = self.world.lock().expect("no thread panics");
        let key = request.head.target.key().cloned().unwrap_or_default();
        if request.head.response == ResponseExpected::None {
            let mut nowhere = Encoder::new(request.body.format);
            let _ = world.dispatch(&key, &request, &mut nowhere);
            return;
        }
        let mut results = connection
            .results_encoder(request.id)
            .expect("the client waits");
        let sent = match world.dispatch(&key, &request, &mut results).err() {
            None => connection.reply(request.id, |encoder| {
                encoder.octets(results.as_bytes());
                Ok(())
            }),
            Some(Raised::User(exception)) => connection
                .reply_user_exception(request.id, |encoder| {
                    Raised::encode_user(&exception, encoder)
                }),
            Some(Raised::System(exception)) => {
                connection.reply_system_exception(request.id, exception)
            }
        };
        sent.expect("the client waits");
    }
}

fn naming_context(naming: &mut NamingService) -> Bytes {
    let format = floe_giop::cdr::Format::utf8(floe_giop::cdr::Endian::NATIVE);
    let mut arguments = Encoder::new(format);
    let name = Name::parse("events").expect("it is a name");
    name.encode(&mut arguments).expect("it is short");
    let arguments = arguments.into_bytes();
    let mut results = Encoder::new(format);
    let key = floe_giop::cos::naming::ROOT_KEY;
    let mut arguments = Decoder::new(&arguments, format);
    naming
        .dispatch(key, "bind_new_context", &mut arguments, &mut results)
        .expect("it is free");
    let results = results.into_bytes();
    let context = Ior::decode(&mut Decoder::new(&results, format)).expect("it is a reference");
    context
        .iiop_profiles()
        .next()
        .expect("it has one")
        .key
        .clone()
}

impl World {
    fn bind_in(&mut self, context: &[u8], name: &str, reference: &Ior) {
        let format = floe_giop::cdr::Format::utf8(floe_giop::cdr::Endian::NATIVE);
        let mut arguments = Encoder::new(format);
        let name = Name::parse(name).expect("it is a name");
        name.encode(&mut arguments).expect("it is short");
        reference.encode(&mut arguments).expect("it is short");
        let arguments = arguments.into_bytes();
        let mut arguments = Decoder::new(&arguments, format);
        let mut results = Encoder::new(format);
        let bound = self
            .naming
            .dispatch(context, "bind", &mut arguments, &mut results);
        bound.expect("it is free");
    }

    fn has(&self, key: &[u8]) -> bool {
        self.naming.has(key) || self.channel.has(key) || self.servants.contains_key(key)
    }

    fn dispatch(
        &mut self,
        key: &Bytes,
        request: &Request,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        let (operation, mut arguments) = (&request.head.operation, request.body.decoder());
        if let Some(servant) = self.servants.get_mut(key) {
            return servant(operation, &mut arguments, results);
        }
        if self.channel.has(key) {
            let event = self
                .channel
                .dispatch(key, operation, &mut arguments, results)?;
            if let Some(event) = event {
                self.handle_event(event);
            }
            return Ok(());
        }
        if self.naming.has(key) {
            return self
                .naming
                .dispatch(key, operation, &mut arguments, results);
        }
        Err(Raised::system(SystemExceptionKind::ObjectNotExist))
    }

    fn handle_event(&mut self, event: ChannelEvent) {
        match event {
            ChannelEvent::Published(any) => {
                for client in self.consumers.values_mut() {
                    let pushed = client.call("push", |encoder| any.encode(encoder));
                    assert!(matches!(pushed, Outcome::Results(_)), "{pushed:?}");
                }
            }
            ChannelEvent::Connected(id, reference) => {
                self.consumers
                    .insert(id, Client::connect(&reference, self.settings.clone()));
            }
            ChannelEvent::Disconnected(id) => {
                self.consumers.remove(&id);
            }
            ChannelEvent::Destroyed { .. } => self.consumers.clear(),
            ChannelEvent::Obtained(_) => {}
        }
    }
}

/// A connection to one object.
pub(crate) struct Client {
    stream: TcpStream,
    connection: Connection<()>,
    input: BytesMut,
    target: Target,
}

/// Nothing that a peer does takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

impl Client {
    pub(crate) fn connect(reference: &Ior, mut settings: ConnectionSettings) -> Self {
        let mut profiles = reference.iiop_profiles();
        let profile = profiles.next().expect("a reference has a profile");
        let address = profile
            .addresses()
            .next()
            .expect("a profile has an address");
        settings.version = settings.version.min(profile.version);
        let code_sets = profile.code_sets().expect("the component is well-formed");
        settings.code_sets = code_sets.map(|info| info.select()).unwrap_or_default();
        let stream = TcpStream::connect((&*address.host, address.port)).expect("it listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("it is above zero");
        Self {
            stream,
            connection: Connection::new(Role::Client, settings),
            input: BytesMut::new(),
            target: Target::Key(profile.key.clone()),
        }
    }

    /// Sends further requests in this way.
    pub(crate) fn set_target(&mut self, target: Target) {
        self.target = target;
    }

    fn head(&self, operation: &str, response: ResponseExpected) -> RequestHead {
        RequestHead {
            target: self.target.clone(),
            operation: operation.to_owned(),
            response,
            contexts: Vec::new(),
        }
    }

    pub(crate) fn call(
        &mut self,
        operation: &str,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Outcome {
        let head = self.head(operation, ResponseExpected::Target);
        self.connection
            .send_request(head, (), write)
            .expect("it can be sent");
        match self.event() {
            ConnectionEvent::Reply((), reply) => reply.outcome().expect("it is well-formed"),
            other => panic!("expected a reply, got {other:?}"),
        }
    }

    pub(crate) fn call_oneway(
        &mut self,
        operation: &str,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) {
        let head = self.head(operation, ResponseExpected::None);
        self.connection
            .send_request(head, (), write)
            .expect("it can be sent");
        self.flush();
    }

    pub(crate) fn locate(&mut self) -> LocateStatus {
        let target = self.target.clone();
        self.connection
            .send_locate(target, ())
            .expect("it can be sent");
        match self.event() {
            ConnectionEvent::LocateReply((), reply) => reply.status().expect("it is well-formed"),
            other => panic!("expected a reply, got {other:?}"),
        }
    }

    fn flush(&mut self) {
        while let Some(bytes) = self.connection.poll_output() {
            self.stream.write_all(&bytes).expect("the peer reads");
        }
    }

    fn event(&mut self) -> ConnectionEvent<()> {
        self.flush();
        let mut buffer = [0; 64 * 1024];
        loop {
            let event = self.connection.handle_input(&mut self.input);
            if let Some(event) = event.expect("the peer keeps to the protocol") {
                return event;
            }
            let len = self
                .stream
                .read(&mut buffer)
                .expect("the peer answers in time");
            assert!(len > 0, "the peer ended the connection");
            self.input.extend_from_slice(&buffer[..len]);
        }
    }
}
