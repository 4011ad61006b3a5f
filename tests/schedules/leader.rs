//! The callers of one connection: one leads and reads, the others follow. A standby task reads for callers that cannot.

use std::collections::VecDeque;
use std::task::{Wake, Waker};

use crate::followers::{Followers, WakeStandby};
use crate::sleeper::Sleeper;
use crate::sync::{Arc, Condvar, Mutex, thread};
use crate::try_orders;

/// A connection as far as turns go: what is read are the numbers of callers whose replies came.
struct Connection {
    turns: Followers<Reading>,
    socket: Mutex<Socket>,
    /// Told of each change of the socket.
    changed: Condvar,
    /// A reply for each caller.
    slots: Vec<Mutex<Slot>>,
}

/// Holds its connection, as the real one does.
struct Reading {
    _connection: Arc<Connection>,
}

#[derive(Default)]
struct Socket {
    arrived: VecDeque<usize>,
    is_closed: bool,
    /// True if the watch was woken.
    is_watch_woken: bool,
}

#[derive(Default)]
struct Slot {
    is_answered: bool,
    waker: Option<Waker>,
}

impl Connection {
    fn new(caller_count: usize) -> Arc<Self> {
        Arc::new(Self {
            turns: Followers::new(),
            socket: Mutex::default(),
            changed: Condvar::new(),
            slots: (0..caller_count).map(|_| Mutex::default()).collect(),
        })
    }

    fn arrive(&self, caller: usize) {
        self.socket.lock().unwrap().arrived.push_back(caller);
        self.changed.notify_all();
    }

    /// Ends the stream, and all calls with it.
    fn close(&self) {
        self.socket.lock().unwrap().is_closed = true;
        self.changed.notify_all();
        (0..self.slots.len()).for_each(|caller| self.answer(caller));
    }

    /// Waits until there is something to read; `None` at the end of the stream.
    fn receive(&self) -> Option<usize> {
        let mut socket = self.socket.lock().unwrap();
        loop {
            if let Some(caller) = socket.arrived.pop_front() {
                return Some(caller);
            }
            if socket.is_closed {
                return None;
            }
            socket = self.changed.wait(socket).unwrap();
        }
    }

    fn answer(&self, caller: usize) {
        let mut slot = self.slots[caller].lock().unwrap();
        slot.is_answered = true;
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_answered(&self, caller: usize, waker: &Waker) -> bool {
        let mut slot = self.slots[caller].lock().unwrap();
        slot.waker = Some(waker.clone());
        slot.is_answered
    }

    fn wake_watch(&self, watch: WakeStandby) {
        if watch.0 {
            self.socket.lock().unwrap().is_watch_woken = true;
            self.changed.notify_all();
        }
    }

    fn give_back(&self, reading: Reading) {
        self.wake_watch(self.turns.give_back(reading));
    }

    /// A caller that reads while it waits, as `take_turn` does.
    fn wait(&self, caller: usize) {
        let sleeper = Arc::new(Sleeper::new());
        let waker = Waker::from(sleeper.clone());
        loop {
            sleeper.reset();
            if self.is_answered(caller, &waker) {
                return;
            }
            self.turns.mark_used();
            match self.turns.take_or_wait(&sleeper) {
                Some(reading) => self.read_for(reading, &sleeper),
                None => {
                    sleeper.park(None);
                    self.wake_watch(self.turns.stop_waiting(&sleeper));
                }
            }
        }
    }

    fn read_for(&self, reading: Reading, sleeper: &Sleeper) {
        while !sleeper.is_woken() {
            match self.receive() {
                Some(caller) => self.answer(caller),
                // The reading ends with its connection.
                None => return drop(reading),
            }
        }
        self.give_back(reading);
    }

    /// A caller that cannot read: the watch does it.
    fn ask_and_wait(&self, caller: usize) {
        let sleeper = Arc::new(Sleeper::new());
        let waker = Waker::from(sleeper.clone());
        loop {
            sleeper.reset();
            if self.is_answered(caller, &waker) {
                return;
            }
            self.turns.request_reading();
            self.wake_watch(WakeStandby(true));
            sleeper.park(None);
        }
    }

    /// The watch. It is woken when it is needed, or never: no time helps it out.
    fn watch(self: &Arc<Self>) {
        self.give_back(Reading {
            _connection: self.clone(),
        });
        while !self.socket.lock().unwrap().is_closed {
            if !self.turns.is_standby_due() {
                self.wait_until(|_| false);
            } else if self.wait_until(|socket| !socket.arrived.is_empty())
                && let Some(reading) = self.turns.take_for_standby()
            {
                self.read_all(reading);
            }
        }
        self.turns.end();
    }

    /// Reads what is there, for those who cannot.
    fn read_all(&self, reading: Reading) {
        loop {
            let arrived = self.socket.lock().unwrap().arrived.pop_front();
            match arrived {
                Some(caller) => self.answer(caller),
                None => return self.give_back(reading),
            }
        }
    }

    /// Waits until something holds; false if the watch was woken before, or the stream has ended.
    fn wait_until(&self, holds: impl Fn(&Socket) -> bool) -> bool {
        let mut socket = self.socket.lock().unwrap();
        loop {
            if std::mem::take(&mut socket.is_watch_woken) || socket.is_closed {
                return false;
            }
            if holds(&socket) {
                return true;
            }
            socket = self.changed.wait(socket).unwrap();
        }
    }
}

/// Runs callers that read, and callers that cannot, until all have their replies; then closes.
fn all_are_answered(reader_count: usize, asker_count: usize) {
    let connection = Connection::new(reader_count + asker_count);
    let watch = {
        let connection = connection.clone();
        thread::spawn(move || connection.watch())
    };
    let callers: Vec<_> = (0..reader_count + asker_count)
        .map(|caller| {
            let connection = connection.clone();
            thread::spawn(move || match caller < reader_count {
                true => connection.wait(caller),
                false => connection.ask_and_wait(caller),
            })
        })
        .collect();
    // Those who cannot read are answered last, when the others may have left.
    for caller in 0..reader_count + asker_count {
        connection.arrive(caller);
    }
    for caller in callers {
        caller.join().unwrap();
    }
    connection.close();
    connection.wake_watch(WakeStandby(true));
    watch.join().unwrap();
}

#[test]
fn callers_that_read_in_turns_are_all_answered() {
    try_orders(|| all_are_answered(3, 0));
}

#[test]
fn those_who_cannot_read_are_answered_by_the_watch() {
    try_orders(|| all_are_answered(0, 2));
    try_orders(|| all_are_answered(2, 1));
}

#[test]
fn a_connection_that_is_closed_in_any_moment_is_freed() {
    try_orders(|| {
        let connection = Connection::new(2);
        let freed = Arc::downgrade(&connection);
        let watch = {
            let connection = connection.clone();
            thread::spawn(move || connection.watch())
        };
        let callers: Vec<_> = (0..2)
            .map(|caller| {
                let connection = connection.clone();
                thread::spawn(move || connection.wait(caller))
            })
            .collect();
        connection.arrive(0);
        connection.close();
        connection.wake_watch(WakeStandby(true));
        drop(connection);
        for thread in callers.into_iter().chain([watch]) {
            thread.join().unwrap();
        }
        assert_eq!(freed.strong_count(), 0, "nobody holds it any more");
    });
}

#[test]
fn a_sleeper_that_is_woken_at_any_moment_wakes() {
    try_orders(|| {
        let sleeper = Arc::new(Sleeper::new());
        let threads: Vec<_> = [true, false]
            .into_iter()
            .map(|is_call| {
                let sleeper = sleeper.clone();
                thread::spawn(move || match is_call {
                    true => sleeper.call(),
                    false => sleeper.wake(),
                })
            })
            .collect();
        while !sleeper.is_woken() {
            sleeper.park(None);
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
