//! Limits the input that is read ahead, in bytes as well as in lines.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes of the lines that wait to be taken. The one that was read last waits besides, until there is room for it, or
/// nothing else if it is longer than this.
const LEN_MAX: usize = 4 << 20;

/// The size of the lines that were read and not taken yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    len: Mutex<usize>,
    has_room: Condvar,
}

impl Ahead {
    /// Counts a line, when there is room for it: blocks until then.
    pub(super) fn enter(&self, len: usize) {
        let Waiting { len: waiting, .. } = &*self.0;
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |waiting: &mut usize| *waiting > 0 && *waiting + len > LEN_MAX;
        let room = self.0.has_room.wait_while(waiting, is_full);
        *room.unwrap_or_else(PoisonError::into_inner) += len;
    }

    /// A line is taken.
    pub(super) fn leave(&self, len: usize) {
        *self.0.len.lock().unwrap_or_else(PoisonError::into_inner) -= len;
        self.0.has_room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_has_no_room_waits_and_the_longest_goes_alone() {
        let ahead = Ahead::default();
        let (entered, entries) = mpsc::channel();
        let reader = ahead.clone();
        thread::spawn(move || {
            for len in [LEN_MAX - 1, 1, 2 * LEN_MAX, 1] {
                reader.enter(len);
                let _ = entered.send(len);
            }
        });
        let next = || entries.recv_timeout(Duration::from_secs(20)).unwrap();
        let waits = || entries.recv_timeout(Duration::from_millis(50)).is_err();
        assert_eq!((next(), next()), (LEN_MAX - 1, 1));
        assert!(waits());
        ahead.leave(LEN_MAX - 1);
        assert!(waits());
        ahead.leave(1);
        assert_eq!(next(), 2 * LEN_MAX);
        assert!(waits());
        ahead.leave(2 * LEN_MAX);
        assert_eq!(next(), 1);
    }
}
