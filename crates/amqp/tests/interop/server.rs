//! The broker on a socket: a thread for each connection that reads, and one that owns the broker.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::broker::{Broker, Seen};

/// A running broker. It ends with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    inputs: SyncSender<Input>,
}

enum Input {
    Connected(u64, TcpStream),
    Bytes(u64, Vec<u8>),
    Ended(u64),
    Look(mpsc::Sender<(Seen, usize)>),
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let (inputs, taken) = mpsc::sync_channel(64);
        thread::spawn(move || serve(&taken));
        let accepted = inputs.clone();
        thread::spawn(move || {
            for (id, stream) in listener.incoming().flatten().enumerate() {
                let inputs = accepted.clone();
                thread::spawn(move || read(id as u64, stream, &inputs));
            }
        });
        Self { address, inputs }
    }

    /// Everything that has happened so far, and how many subscriptions there are.
    pub(crate) fn look(&self) -> (Seen, usize) {
        let (sender, answer) = mpsc::channel();
        self.inputs.send(Input::Look(sender)).expect("it runs");
        answer.recv().expect("it answers")
    }
}

fn read(id: u64, mut stream: TcpStream, inputs: &SyncSender<Input>) {
    stream.set_nodelay(true).expect("it is a socket");
    stream
        .set_write_timeout(Some(Duration::from_secs(30)))
        .expect("it is a socket");
    let clone = stream.try_clone().expect("descriptors are left");
    let mut recorder = Recorder::new(id);
    let mut buffer = vec![0; 64 * 1024];
    let mut input = Input::Connected(id, clone);
    while inputs.send(input).is_ok() {
        let Ok(len @ 1..) = stream.read(&mut buffer) else {
            break;
        };
        recorder.record(&buffer[..len]);
        input = Input::Bytes(id, buffer[..len].to_vec());
    }
    let _ = inputs.send(Input::Ended(id));
}

fn serve(inputs: &Receiver<Input>) {
    let mut broker = Broker::default();
    let mut streams: HashMap<u64, TcpStream> = HashMap::new();
    loop {
        match inputs.recv_timeout(Duration::from_millis(100)) {
            Ok(Input::Connected(id, stream)) => {
                broker.connect(id, Instant::now());
                streams.insert(id, stream);
            }
            Ok(Input::Bytes(id, bytes)) => broker.handle_bytes(id, Instant::now(), &bytes),
            Ok(Input::Ended(id)) => {
                broker.handle_end(id);
                streams.remove(&id);
            }
            Ok(Input::Look(answer)) => {
                let _ = answer.send((broker.seen.clone(), broker.subscription_count()));
            }
            Err(RecvTimeoutError::Timeout) => broker.handle_timeouts(Instant::now()),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for (id, bytes, is_over) in broker.poll_transmits(Instant::now()) {
            if let Some(stream) = streams.get_mut(&id) {
                let is_written = stream.write_all(&bytes).is_ok();
                if is_over || !is_written {
                    let _ = stream.shutdown(Shutdown::Write);
                    streams.remove(&id);
                }
            }
        }
    }
}

/// Writes what peers send into the folder that `FLOE_AMQP_RECORD` names: for each read its length, as 4 bytes, and its
/// bytes. `tests/vectors/` has such files.
struct Recorder(Option<PathBuf>);

impl Recorder {
    fn new(id: u64) -> Self {
        let folder = env::var_os("FLOE_AMQP_RECORD");
        Self(folder.map(|folder| PathBuf::from(folder).join(format!("{id}.chunks"))))
    }

    fn record(&mut self, bytes: &[u8]) {
        if let Some(path) = &self.0 {
            let mut file = fs::OpenOptions::new();
            let mut file = file.append(true).create(true).open(path).expect("a folder");
            let len = (bytes.len() as u32).to_be_bytes();
            file.write_all(&len).expect("room");
            file.write_all(bytes).expect("room");
        }
    }
}
