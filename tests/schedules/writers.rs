//! Senders that share one output: whoever has appended something writes it, unless somebody is
//! writing already.

use bytes::Buf;
use floe_wire::connection::{SendQueue, WriteBatch};
use shuttle::rand::{Rng, thread_rng};

use crate::sync::{Arc, Mutex, thread};
use crate::try_orders;

/// A connection as far as writing goes.
#[derive(Default)]
struct Connection {
    shared: Mutex<Shared>,
    /// Bytes that the peer got.
    transport: Mutex<Vec<u8>>,
}

#[derive(Default)]
struct Shared {
    output: SendQueue,
    is_closed: bool,
    /// Where each message stands: start, sender, number.
    appended: Vec<(u64, u8, u8)>,
}

/// Two bytes that say whose message it is and which, and two more of the same.
const MESSAGE_LEN: usize = 4;

impl Connection {
    /// Appends a message, and writes it unless somebody else does.
    fn send(&self, sender: u8, number: u8) {
        let mut shared = self.shared.lock().unwrap();
        if shared.is_closed {
            return;
        }
        let start = shared.output.end();
        shared.appended.push((start, sender, number));
        let message = [sender, number, sender, number];
        shared.output.bytes().extend_from_slice(&message);
        let batch = shared.output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(batch);
        }
    }

    /// Source: `write` in `crates/runtime/src/connection/send_half.rs`.
    fn write(&self, mut batch: WriteBatch) {
        loop {
            let chunk = batch.remaining().chunk();
            let count = thread_rng().gen_range(1..=chunk.len());
            self.transport.lock().unwrap().extend(&chunk[..count]);
            let is_done = batch.advance(count);
            let mut shared = self.shared.lock().unwrap();
            shared.output.progress(count);
            if shared.is_closed {
                return;
            }
            if is_done {
                match shared.output.put_back(batch) {
                    Some(next) => batch = next,
                    None => return,
                }
            }
        }
    }

    /// Closes it; tells of each message whether it may have reached the peer.
    fn close(&self) -> Vec<(bool, u8, u8)> {
        let mut shared = self.shared.lock().unwrap();
        shared.is_closed = true;
        shared.output.clear();
        let taken = shared.output.taken();
        let tell = |(start, sender, number): &(u64, u8, u8)| (*start < taken, *sender, *number);
        shared.appended.iter().map(tell).collect()
    }
}

fn start(connection: &Arc<Connection>) -> Vec<thread::JoinHandle<()>> {
    (0..3)
        .map(|sender| {
            let connection = connection.clone();
            thread::spawn(move || (0..3).for_each(|number| connection.send(sender, number)))
        })
        .collect()
}

/// Checks that whole messages came, those of each sender in order; how many.
fn check(bytes: &[u8]) -> usize {
    let mut next = [0; 3];
    let messages = bytes.chunks(MESSAGE_LEN);
    for message in messages.filter(|message| message.len() == MESSAGE_LEN) {
        assert_eq!(message[..2], message[2..], "a message is whole");
        let sender = usize::from(message[0]);
        assert_eq!(
            message[1], next[sender],
            "messages of a sender stay in order"
        );
        next[sender] += 1;
    }
    bytes.len() / MESSAGE_LEN
}

#[test]
fn what_several_threads_send_leaves_whole_once_and_in_order() {
    try_orders(|| {
        let connection = Arc::new(Connection::default());
        for sender in start(&connection) {
            sender.join().unwrap();
        }
        assert_eq!(check(&connection.transport.lock().unwrap()), 9);
        let shared = connection.shared.lock().unwrap();
        assert_eq!(
            (shared.output.waiting_len(), shared.output.pending_len()),
            (0, 0)
        );
    });
}

#[test]
fn what_is_said_to_have_stayed_here_never_left() {
    try_orders(|| {
        let connection = Arc::new(Connection::default());
        let senders = start(&connection);
        let told = connection.close();
        for sender in senders {
            sender.join().unwrap();
        }
        let transport = connection.transport.lock().unwrap();
        check(&transport);
        for (may_have_left, sender, number) in told {
            let is_there = transport
                .chunks(MESSAGE_LEN)
                .any(|message| message.starts_with(&[sender, number]));
            assert!(may_have_left || !is_there, "{sender}/{number} left");
        }
    });
}
