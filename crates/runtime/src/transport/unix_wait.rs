//! How a thread waits on a Unix domain socket.
//!
//! The system wakes a thread that is blocked in a read not only when bytes arrive, but also when the peer reads earlier
//! bytes, because that frees memory. If the reply arrives before the thread sleeps again, the early wake-up is a gain.
//! If the reply arrives a little later, the thread wakes up twice, and the call takes twice the time. This type
//! therefore uses the first wake-up as a hint: the peer is working on the reply right now, so a short busy poll costs
//! less than another sleep. If the hints prove useless, a plain read waits instead, and the busy poll is tried less and
//! less often.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::net::RecvFlags;

use super::plain::{receive, try_receive};
use crate::adaptive_poll::AdaptivePoll;

/// Receive attempts after a hint. They take a few microseconds.
const TRY_COUNT: usize = 30;

/// Watches a socket for arriving bytes, and for reads of the peer.
#[derive(Debug)]
pub(super) struct UnixWait {
    epoll: OwnedFd,
    /// Learns whether the busy poll pays; held for a moment.
    polling: Mutex<AdaptivePoll>,
}

impl UnixWait {
    /// Starts to watch a socket.
    pub(super) fn new(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Edge-triggered: otherwise a writable socket would wake the thread all the time.
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

    /// Waits for bytes on the socket and receives some; 0 at the end of the stream. With a limit, which must also be
    /// set on the socket, it fails with [`io::ErrorKind::WouldBlock`] if nothing has come by then.
    pub(super) fn receive(
        &self,
        socket: BorrowedFd<'_>,
        room: &mut [u8],
        limit: Option<Duration>,
    ) -> io::Result<usize> {
        if self.polling().is_worthwhile() {
            // Discards older events, which are no hints. Bytes that are already there will not cause another event.
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

    /// Waits for an event and returns it. Returns no flags after the limit.
    fn wait(&self, limit: Option<&Timespec>) -> io::Result<epoll::EventFlags> {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        epoll::wait(&self.epoll, &mut events, limit)?;
        Ok(events[0].flags)
    }

    fn polling(&self) -> std::sync::MutexGuard<'_, AdaptivePoll> {
        self.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the bytes that are there; `None` if there are none.
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
    fn bytes_that_came_before_the_first_wait_are_received() {
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
    fn a_slow_reply_is_waited_for() {
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
