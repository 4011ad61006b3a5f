//! The two halves of an encrypted stream, which share its rustls session.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use rustls::Connection;
use tokio::io::{AsyncRead, ReadBuf};

use super::explain::explain;
use super::handshake_permits::HandshakePermits;
use crate::transport::ConnectionInfo;
use crate::transport::overhead::Overhead;
use crate::transport::{Stream, StreamWriter};

/// Bytes that are encrypted before any of them is written: four records.
const CHUNK_LEN: usize = 64 * 1024;
/// Bytes that are read before any of them is decrypted: one record.
const READ_LEN: usize = 16 * 1024;

/// Performs the handshake over a stream, and returns the encrypted stream. Each step of it that computes needs a permit.
pub(super) async fn open(
    stream: Stream,
    connection: Connection,
    permits: &HandshakePermits,
) -> io::Result<Stream> {
    let shared = Arc::new(TlsShared {
        session: Mutex::new(TlsSession {
            connection,
            accepted: None,
        }),
        writer: stream.writer,
    });
    let mut reader = TlsReader {
        shared: shared.clone(),
        inner: stream.reader,
        rest: Vec::new(),
        overhead: Overhead::default(),
        first: Vec::new(),
    };
    loop {
        shared.flush().await?;
        if !shared.lock().connection.is_handshaking() {
            break;
        }
        let has_input = poll_fn(|context| reader.poll_input(context)).await?;
        if !has_input {
            let what = "the peer ended the stream in the middle of the TLS handshake";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let permit = permits.acquire().await;
        poll_fn(|context| reader.poll_fill(context)).await?;
        permit.release().await;
    }
    // The first bytes are not needed after the handshake.
    reader.first = Vec::new();
    Ok(Stream {
        reader: Box::new(reader),
        writer: Box::new(TlsWriter(shared)),
        peer: stream.peer,
    })
}

struct TlsShared {
    /// The rustls session. The lock is held while a write to the stream below is tried, which never blocks, and never
    /// across an await.
    session: Mutex<TlsSession>,
    writer: Box<dyn StreamWriter>,
}

struct TlsSession {
    connection: Connection,
    /// Number of the writer's bytes that are encrypted but not yet counted as written, because some of their records
    /// are still here.
    accepted: Option<usize>,
}

impl TlsShared {
    fn lock(&self) -> MutexGuard<'_, TlsSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all records are written.
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

impl TlsSession {
    fn try_flush(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut LowerStream(writer))? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Takes decrypted bytes. Returns true if there were any, or if the stream has ended.
    fn take(&mut self, out: &mut ReadBuf<'_>) -> io::Result<bool> {
        let before = out.filled().len();
        while out.remaining() > 0 {
            match self.connection.reader().read(out.initialize_unfilled()) {
                Ok(0) => return Ok(true),
                Ok(count) => out.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The peer ended the stream without a TLS close. The Ice protocol has a close of its own, which shows
                // whether data is missing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(out.filled().len() > before)
    }

    /// Decrypts as much as rustls accepts. Returns how many bytes it took.
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

struct TlsReader {
    shared: Arc<TlsShared>,
    inner: Box<dyn AsyncRead + Send + Unpin>,
    /// Bytes that were read but not decrypted, because enough was ready to hand out.
    rest: Vec<u8>,
    overhead: Overhead,
    /// The first bytes of the stream, for errors about peers that do not speak TLS. Empty after the handshake.
    first: Vec<u8>,
}

impl TlsReader {
    /// Waits for bytes of the peer, and keeps them for [`Self::poll_fill`]. Returns false at the end of the stream.
    fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.rest.is_empty() {
            let mut buffer = [0; READ_LEN];
            let mut read = ReadBuf::new(&mut buffer);
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut read))?;
            self.rest.extend_from_slice(read.filled());
        }
        Poll::Ready(Ok(!self.rest.is_empty()))
    }

    /// Reads and decrypts some bytes. Returns false at the end of the stream.
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
        // Sends alerts and answers to key updates. If there is no room, a later write takes them along.
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
        self.overhead.add_input(count);
        Poll::Ready(Ok(!bytes.is_empty()))
    }
}

impl AsyncRead for TlsReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        loop {
            if self.shared.lock().take(out)? {
                let len = out.filled().len() - before;
                self.overhead.take_off_payload(len);
                return Poll::Ready(Ok(()));
            }
            ready!(self.overhead.poll_give_way(context));
            let polled = self.poll_fill(context);
            if polled.is_pending() {
                self.overhead.reset();
            }
            ready!(polled)?;
        }
    }
}

struct TlsWriter(Arc<TlsShared>);

impl StreamWriter for TlsWriter {
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
        // If there is no room, the peer sees the end of the stream without a TLS close.
        let _ = session.try_flush(&*self.0.writer);
        drop(session);
        self.0.writer.shutdown();
    }

    fn is_encrypted(&self) -> bool {
        true
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

/// The stream below, as the target of rustls' writes.
struct LowerStream<'a>(&'a dyn StreamWriter);

impl Write for LowerStream<'_> {
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
