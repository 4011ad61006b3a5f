//! The reader of a connection: a task, a thread of its own, or the callers that wait for replies.

use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;

use super::ConnectionCore;
#[cfg(unix)]
use super::flush_thread::note_wait;
#[cfg(unix)]
use super::leader::Leadership;
use super::reading::Reading;
use super::wait::Sleeper;
#[cfg(unix)]
use super::wait::{mark_prepared, wait_for_reply};
use crate::environment::Environment;
#[cfg(unix)]
use crate::environment::ThreadPermit;
#[cfg(unix)]
use crate::transport::plain::{PlainSocket, try_receive};
use crate::transport::{Stream, StreamWriter};

/// How a connection is read.
pub(super) enum Driver {
    /// One task or one thread reads it from start to end.
    Own,
    /// One of the callers that wait for replies reads it. While no caller waits, a standby task watches the socket.
    #[cfg(unix)]
    Callers(Leadership),
}

/// The writer of a stream, its reader, and the call that starts the reader.
type Prepared = (
    Box<dyn StreamWriter>,
    Driver,
    Box<dyn FnOnce(Reading) + Send>,
);

/// Chooses the reader of a stream. With the blocking communicator, callers read outgoing connections and threads read
/// incoming ones, if the transport has a plain socket and the thread limit allows it.
pub(super) fn prepare(stream: Stream, is_outgoing: bool, environment: &Environment) -> Prepared {
    match environment.is_blocking() {
        true => prepare_blocking(stream, is_outgoing, environment),
        false => with_task(stream),
    }
}

fn with_task(stream: Stream) -> Prepared {
    let reader = stream.reader;
    let start = move |reading: Reading| {
        let tasks = reading.connection.tasks.clone();
        tasks.spawn(run_task(Box::new(reading), reader));
    };
    (stream.writer, Driver::Own, Box::new(start))
}

#[cfg(not(unix))]
fn prepare_blocking(stream: Stream, _is_outgoing: bool, _environment: &Environment) -> Prepared {
    with_task(stream)
}

#[cfg(unix)]
fn prepare_blocking(stream: Stream, is_outgoing: bool, environment: &Environment) -> Prepared {
    let permit = if is_outgoing {
        None
    } else {
        environment.thread_permit()
    };
    if !is_outgoing && permit.is_none() {
        tracing::debug!(
            "{}: the thread limit is reached, so a task reads the connection",
            stream.peer
        );
        return with_task(stream);
    }
    let socket = match stream.into_plain() {
        Ok(socket) => Arc::new(socket),
        Err(stream) => return with_task(stream),
    };
    let writer = socket.writer();
    if let Some(permit) = permit {
        let start = move |reading| start_thread(reading, socket, permit);
        return (writer, Driver::Own, Box::new(start));
    }
    let start = |reading: Reading| {
        let connection = reading.connection.clone();
        let tasks = connection.tasks.clone();
        tasks.spawn(async move {
            if let Driver::Callers(leadership) = &connection.driver {
                leadership.run_standby(&connection, reading).await;
            }
        });
    };
    (
        writer,
        Driver::Callers(Leadership::new(socket)),
        Box::new(start),
    )
}

impl Driver {
    /// Wakes the standby task, which would not notice that the connection was closed or that input now has another
    /// meaning.
    pub(super) fn wake_standby(&self) {
        #[cfg(unix)]
        if let Self::Callers(leadership) = self {
            leadership.wake_standby();
        }
    }

    /// Waits on this thread until the sleeper is woken, or until the deadline. Meanwhile the thread reads if callers do
    /// the reading. It may return early.
    pub(super) fn drive(
        &self,
        connection: &ConnectionCore,
        sleeper: &Arc<Sleeper>,
        deadline: Option<Instant>,
    ) {
        match self {
            Self::Own => sleeper.park(deadline),
            #[cfg(unix)]
            Self::Callers(leadership) => {
                leadership.lead_or_follow(sleeper, deadline, connection.polling());
            }
        }
    }

    /// Makes the standby task read, because a caller waits for a reply and cannot read it.
    pub(super) fn request_reading(&self) {
        match self {
            Self::Own => {}
            #[cfg(unix)]
            Self::Callers(leadership) => leadership.request_reading(),
        }
    }

    /// Registers that a caller begins to wait for a reply.
    pub(super) fn wait_for_reply(&self, connection: &Arc<ConnectionCore>, waker: &Waker) {
        #[cfg(unix)]
        if let Self::Callers(leadership) = self
            && !wait_for_reply(connection, waker)
        {
            leadership.request_reading();
        }
    }
}

/// The task that reads a connection until it is closed.
async fn run_task(mut reading: Box<Reading>, mut reader: Box<dyn AsyncRead + Send + Unpin>) {
    loop {
        let polled = poll_direct(&mut reading).await;
        let read = match polled {
            Some(read) => read,
            None => reading.read(&mut *reader).await,
        };
        if !reading.handle(read).await {
            return;
        }
    }
}

/// Busy-polls the socket, and lets other tasks run in between.
#[cfg(unix)]
async fn poll_direct(reading: &mut Reading) -> Option<io::Result<usize>> {
    let limit = reading.connection.polling();
    if limit.is_zero() {
        return None;
    }
    let connection = reading.connection.clone();
    let socket = connection.output.writer().plain_socket()?;
    if !reading.polling.is_worthwhile() {
        return None;
    }
    let start = Instant::now();
    loop {
        match try_receive(socket, reading.room()) {
            Err(error) if is_transient(&error) => {}
            read => {
                reading.polling.learn(true);
                return Some(read);
            }
        }
        if start.elapsed() >= limit {
            reading.polling.learn(false);
            return None;
        }
        tokio::task::yield_now().await;
        reading.begin_quantum();
    }
}

#[cfg(not(unix))]
async fn poll_direct(_reading: &mut Reading) -> Option<io::Result<usize>> {
    None
}

#[cfg(unix)]
fn start_thread(reading: Reading, socket: Arc<PlainSocket>, permit: ThreadPermit) {
    let tasks = reading.connection.tasks.clone();
    let connection = reading.connection.clone();
    let run = move || {
        let _permit = permit;
        let _runtime = tasks.enter();
        mark_prepared();
        run_thread(reading, &socket);
    };
    let thread = std::thread::Builder::new().name("floe-connection".to_owned());
    if let Err(error) = thread.spawn(run) {
        let reason = format!("the system refused a thread that reads it: {error}");
        tracing::warn!("dropped the connection to {}: {reason}", connection.peer());
        connection.abort(reason);
    }
}

/// The thread that reads a connection until it is closed.
#[cfg(unix)]
fn run_thread(mut reading: Reading, socket: &PlainSocket) {
    loop {
        note_wait();
        let limit = reading.connection.polling();
        let read = match receive_polling(&mut reading, socket, limit) {
            Some(read) => read,
            None => receive(&mut reading, socket),
        };
        if matches!(&read, Err(error) if is_transient(error)) {
            continue;
        }
        if !reading.handle_blocking(read) {
            return;
        }
    }
}

/// Waits for input. While the connection holds a long buffer or a part of a message, the wait has a limit.
#[cfg(unix)]
fn receive(reading: &mut Reading, socket: &PlainSocket) -> io::Result<usize> {
    let has_long_buffer = reading.input.has_long_buffer();
    // The limit stays set while long messages follow each other, because changing it is a system call.
    let limit = (has_long_buffer || reading.is_in_message()).then_some(KEPT_TIME);
    let read = socket.receive_within(reading.room(), limit);
    if matches!(&read, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
        if has_long_buffer {
            reading.input.drop_long_buffers();
        }
        reading.check_unfinished()?;
    }
    read
}

/// How long a waiting thread keeps the buffer of a long message, and how often it checks whether the rest of a message
/// is late.
#[cfg(unix)]
const KEPT_TIME: Duration = Duration::from_secs(1);

/// Busy-polls a socket.
#[cfg(unix)]
pub(super) fn receive_polling(
    reading: &mut Reading,
    socket: &PlainSocket,
    limit: Duration,
) -> Option<io::Result<usize>> {
    if limit.is_zero() {
        return None;
    }
    let mut polling = std::mem::take(&mut reading.polling);
    let room = reading.room();
    let read = polling.poll(limit, || match socket.try_receive(room) {
        Err(error) if is_transient(&error) => None,
        read => Some(read),
    });
    reading.polling = polling;
    read
}

/// Returns true if the read or write should be tried again.
pub(super) fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
