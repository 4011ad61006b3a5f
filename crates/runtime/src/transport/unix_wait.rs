//! How a thread waits on a Unix domain socket.
//!
//! There the system wakes a thread that is blocked in a read not only when something comes, but
//! also when the peer takes what was sent, for its memory is free again. If the answer follows before
//! the thread sleeps again, the early wake-up is a gain; if it follows a little later, the thread
//! wakes up twice for it, and calls take twice their time. So the first wake-up is made use of: the
//! peer is at work this very moment, and to ask a few times for its answer costs less than to
//! sleep again. Where that is in vain, a plain read waits, and it is tried less and less often.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::net::RecvFlags;

use super::plain::{receive, try_receive};
use crate::busy_poll::BusyPoll;

/// Tries to receive after a hint: a few microseconds.
const TRY_COUNT: usize = 30;

/// Watches a socket for what comes, and for what the peer takes.
#[derive(Debug)]
pub(super) struct UnixWait {
    epoll: OwnedFd,
    /// Whether hints were worth it; held for a moment.
    polling: Mutex<BusyPoll>,
}

impl UnixWait {
    /// Watches a socket from now on.
    pub(super) fn new(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Only changes: otherwise a socket that can be written to would wake all the time.
        let changes = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        epoll::add(&epoll, socket, epoll::EventData::new_u64(0), changes)?;
        Ok(Self {
            epoll,
            polling: Mutex::default(),
        })
    }

    /// Waits for bytes on the socket and receives some; 0 at the end of the stream. With a limit, which
    /// the socket has, too, it fails with [`io::ErrorKind::WouldBlock`] if nothing has come by then.
    pub(super) fn receive(
        &self,
        socket: BorrowedFd<'_>,
        room: &mut [u8],
        limit: Option<Duration>,
    ) -> io::Result<usize> {
        if self.polling().is_worthwhile() {
            // What was told of earlier is no hint, and what is there already is told of no more.
            self.wait(Some(&Timespec::default()))?;
            if let Some(read) = received(socket, room) {
                return read;
            }
            let limit = limit.map(Timespec::try_from).transpose();
            let limit = limit.map_err(|_| io::ErrorKind::InvalidInput)?;
            let change = self.wait(limit.as_ref())?;
            if change.is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let is_hint = change == epoll::EventFlags::OUT;
            let try_count = if is_hint { TRY_COUNT } else { 0 };
            let answer = (0..try_count).find_map(|_| received(socket, room));
            self.polling().learn(answer.is_some());
            if let Some(read) = answer {
                return read;
            }
        }
        receive(socket, room, RecvFlags::empty())
    }

    /// Waits for a change, and tells which; none if there was none in time.
    fn wait(&self, limit: Option<&Timespec>) -> io::Result<epoll::EventFlags> {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        epoll::wait(&self.epoll, &mut events, limit)?;
        Ok(events[0].flags)
    }

    fn polling(&self) -> std::sync::MutexGuard<'_, BusyPoll> {
        self.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is there; `None` if that is nothing.
fn received(socket: BorrowedFd<'_>, room: &mut [u8]) -> Option<io::Result<usize>> {
    match try_receive(socket, room) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        read => Some(read),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_came_before_the_first_wait_is_received() {
        let (mut peer, socket) = UnixStream::pair().unwrap();
        let taken = UnixWait::new(socket.as_fd()).unwrap();
        peer.write_all(b"early").unwrap();
        let mut room = [0; 2];
        let mut got = Vec::new();
        while got.len() < 5 {
            let count = taken.receive(socket.as_fd(), &mut room, None).unwrap();
            got.extend_from_slice(&room[..count]);
        }
        assert_eq!(got, b"early");
    }

    #[test]
    fn an_answer_that_takes_its_time_is_waited_for() {
        let (mut peer, mut socket) = UnixStream::pair().unwrap();
        let taken = UnixWait::new(socket.as_fd()).unwrap();
        let answering = thread::spawn(move || {
            for _ in 0..20 {
                let mut question = [0];
                peer.read_exact(&mut question).unwrap();
                thread::sleep(Duration::from_millis(2));
                peer.write_all(&question).unwrap();
            }
        });
        for question in 0..20 {
            socket.write_all(&[question]).unwrap();
            let mut answer = [0; 8];
            assert_eq!(taken.receive(socket.as_fd(), &mut answer, None).unwrap(), 1);
            assert_eq!(answer[0], question);
        }
        answering.join().unwrap();
        let mut answer = [0; 8];
        let end = taken.receive(socket.as_fd(), &mut answer, None).unwrap();
        assert_eq!(end, 0, "the peer is gone");
    }
}
