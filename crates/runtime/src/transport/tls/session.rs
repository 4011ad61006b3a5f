//! The two halves of an encrypted stream. They share what rustls knows of it.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use rustls::Connection;
use tokio::io::{AsyncRead, ReadBuf};

use super::explain::explain;
use crate::transport::ConnectionInfo;
use crate::transport::{Stream, StreamWriter};

/// Bytes that are encrypted before any of them is written: four records.
const CHUNK_LEN: usize = 64 * 1024;
/// Bytes that are read before any of them is decrypted: a record.
const READ_LEN: usize = 16 * 1024;

/// Shakes hands over a stream, and gives the encrypted one.
pub(super) async fn open(stream: Stream, connection: Connection) -> io::Result<Stream> {
    let shared = Arc::new(Shared {
        session: Mutex::new(Session {
            connection,
            accepted: None,
        }),
        writer: stream.writer,
    });
    let mut reader = Reader {
        shared: shared.clone(),
        inner: stream.reader,
        rest: Vec::new(),
        first: Vec::new(),
    };
    loop {
        shared.flush().await?;
        if !shared.lock().connection.is_handshaking() {
            break;
        }
        if !poll_fn(|context| reader.poll_fill(context)).await? {
            let what = "the peer ended the stream in the middle of the TLS handshake";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
    }
    // From now on it would only be kept.
    reader.first = Vec::new();
    Ok(Stream {
        reader: Box::new(reader),
        writer: Box::new(Writer(shared)),
        peer: stream.peer,
    })
}

struct Shared {
    /// What rustls knows. Held while a write to the stream below is tried, which never blocks, and
    /// never across a wait.
    session: Mutex<Session>,
    writer: Box<dyn StreamWriter>,
}

struct Session {
    connection: Connection,
    /// Bytes of the writer that are encrypted, and not yet counted as written: some of their
    /// records did not leave.
    accepted: Option<usize>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all records have left.
    async fn flush(&self) -> io::Result<()> {
        loop {
            match self.lock().try_flush(&*self.writer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                flushed => return flushed,
            }
            poll_fn(|context| self.writer.poll_write_ready(context)).await?;
        }
    }
}

impl Session {
    fn try_flush(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut Below(writer))? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Takes decrypted bytes; whether there were any, or the end of the stream came.
    fn take(&mut self, out: &mut ReadBuf<'_>) -> io::Result<bool> {
        let before = out.filled().len();
        while out.remaining() > 0 {
            match self.connection.reader().read(out.initialize_unfilled()) {
                Ok(0) => return Ok(true),
                Ok(count) => out.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // No farewell of TLS. That of the protocol above tells whether something is missing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(out.filled().len() > before)
    }

    /// Decrypts as much as rustls takes; how many bytes that were.
    fn decrypt(&mut self, bytes: &[u8], first: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        loop {
            if self.connection.read_tls(&mut rest)? == 0 {
                return Ok(bytes.len());
            }
            let state = self
                .connection
                .process_new_packets()
                .map_err(|error| explain(&error, first))?;
            if rest.is_empty() || state.plaintext_bytes_to_read() > 0 {
                return Ok(bytes.len() - rest.len());
            }
        }
    }
}

struct Reader {
    shared: Arc<Shared>,
    inner: Box<dyn AsyncRead + Send + Unpin>,
    /// What was read and not decrypted, as there was enough to give out.
    rest: Vec<u8>,
    /// The first bytes of all, for messages about peers that do not speak TLS. Empty once it does.
    first: Vec<u8>,
}

impl Reader {
    /// Reads and decrypts something; false at the end of the stream.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut buffer = [0; READ_LEN];
        let mut read = ReadBuf::new(&mut buffer);
        let rest = std::mem::take(&mut self.rest);
        let bytes = if rest.is_empty() {
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut read))?;
            read.filled()
        } else {
            &rest
        };
        if self.first.len() < 4 {
            self.first.extend(bytes.iter().take(4));
        }
        let mut session = self.shared.lock();
        let decrypted = session.decrypt(bytes, &self.first);
        // Alerts and answers to key updates; if there is no room, a later write takes them along.
        if session.accepted.is_none()
            && let Err(error) = session.try_flush(&*self.shared.writer)
            && error.kind() != io::ErrorKind::WouldBlock
            && decrypted.is_ok()
        {
            return Poll::Ready(Err(error));
        }
        drop(session);
        let count = decrypted?;
        self.rest = bytes[count..].to_vec();
        Poll::Ready(Ok(!bytes.is_empty()))
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.shared.lock().take(out)? {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_fill(context))?;
        }
    }
}

struct Writer(Arc<Shared>);

impl StreamWriter for Writer {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut session = self.0.lock();
        session.try_flush(&*self.0.writer)?;
        if let Some(count) = session.accepted.take() {
            return Ok(count.min(bytes.len()));
        }
        let chunk = &bytes[..bytes.len().min(CHUNK_LEN)];
        let count = session.connection.writer().write(chunk)?;
        match session.try_flush(&*self.0.writer) {
            Err(error) => {
                session.accepted = Some(count);
                Err(error)
            }
            Ok(()) => Ok(count),
        }
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.writer.poll_write_ready(context)
    }

    fn shutdown(&self) {
        let mut session = self.0.lock();
        session.connection.send_close_notify();
        // If there is no room, the peer finds the end of the stream without it.
        let _ = session.try_flush(&*self.0.writer);
        drop(session);
        self.0.writer.shutdown();
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        self.0.writer.describe(info);
        info.transport = "ssl";
        let session = self.0.lock();
        let suite = session.connection.negotiated_cipher_suite();
        info.cipher = suite.map(|suite| format!("{:?}", suite.suite()));
        let certificates = session.connection.peer_certificates().unwrap_or_default();
        let certificates = certificates.iter();
        info.peer_certificates = certificates
            .map(|der| bytes::Bytes::copy_from_slice(der))
            .collect();
    }
}

/// The stream below, as rustls writes to it.
struct Below<'a>(&'a dyn StreamWriter);

impl Write for Below<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    /// Several records leave in one write.
    fn write_vectored(&mut self, records: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match records {
            [] => Ok(0),
            [record] => self.0.try_write(record),
            records => {
                let records: Vec<&[u8]> = records.iter().map(|record| &**record).collect();
                self.0.try_write(&records.concat())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
