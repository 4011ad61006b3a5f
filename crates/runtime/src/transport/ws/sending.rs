//! The writing side of a WebSocket: frames leave whole, and control frames leave between them.

use std::io;

use bytes::{Buf, BytesMut};
use floe_wire::message::Header;
use floe_wire::websocket::{Mask, Opcode, Side, append_control, append_data_header, append_masked};

use super::random;
use crate::transport::StreamWriter;

/// Bytes that a client masks before any of them is written.
const CHUNK_LEN: usize = 64 * 1024;
/// Payload of a server up to this length is copied, to leave in one write with its header.
const COPY_MAX: usize = 16 * 1024;

/// The writing side.
///
/// ```text
/// between frames --header--> in a frame --last byte of its payload--> between frames
/// ```
///
/// Control frames leave between frames.
pub(super) struct WsSending {
    side: Side,
    /// Bytes in their final form that are still here: at most a chunk and a control frame.
    output: BytesMut,
    /// Payload that is masked in `output` and not yet counted as written.
    accepted: Option<usize>,
    /// Length of the payload of the current frame, and how much of it has been taken.
    frame_len: usize,
    frame_done: usize,
    mask: Mask,
    /// The answer to the last ping, until it can be sent.
    pub(super) pong: Option<Vec<u8>>,
    is_closed: bool,
}

impl WsSending {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            output: BytesMut::new(),
            accepted: None,
            frame_len: 0,
            frame_done: 0,
            mask: Mask::default(),
            pong: None,
            is_closed: false,
        }
    }

    /// Writes some payload, as one frame for each message. Many small frames leave in one write.
    pub(super) fn try_write(
        &mut self,
        bytes: &[u8],
        writer: &dyn StreamWriter,
    ) -> io::Result<usize> {
        self.try_flush(writer)?;
        if let Some(count) = self.accepted.take() {
            return Ok(count);
        }
        self.send_pong(writer)?;
        let mut chunk = Vec::new();
        let mut done = 0;
        while done < bytes.len() && done < CHUNK_LEN {
            if self.frame_done == self.frame_len {
                self.begin_frame(payload_len(&bytes[done..]), &mut chunk)?;
            }
            let end = bytes.len().min(done + self.frame_len - self.frame_done);
            if self.side == Side::Server && end - done > COPY_MAX {
                // Payload of a server needs no mask.
                if done == 0 {
                    self.output.extend_from_slice(&chunk);
                    return self.write_through(&bytes[..end], writer);
                }
                break;
            }
            let end = end.min(CHUNK_LEN);
            append_masked(&mut chunk, &bytes[done..end], self.mask, self.frame_done);
            self.frame_done += end - done;
            done = end;
        }
        self.output.extend_from_slice(&chunk);
        match self.try_flush(writer) {
            Ok(()) => Ok(done),
            Err(error) => {
                self.accepted = Some(done);
                Err(error)
            }
        }
    }

    /// Writes payload of the current frame unchanged.
    fn write_through(&mut self, bytes: &[u8], writer: &dyn StreamWriter) -> io::Result<usize> {
        self.try_flush(writer)?;
        let count = writer.try_write(bytes)?;
        self.frame_done += count;
        Ok(count)
    }

    fn begin_frame(&mut self, len: usize, output: &mut Vec<u8>) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mask = self.new_mask()?;
        self.mask = mask.unwrap_or_default();
        (self.frame_len, self.frame_done) = (len, 0);
        append_data_header(output, len, mask);
        Ok(())
    }

    /// Sends the answer to a ping, if one is due and no frame is unfinished.
    pub(super) fn send_pong(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        if self.frame_done < self.frame_len || self.is_closed || self.pong.is_none() {
            return Ok(());
        }
        match self.try_pong(writer) {
            // The answer leaves with the next write.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            flushed => flushed,
        }
    }

    /// Sends the answer once all earlier bytes have left, so that a peer that sends pings and does not read cannot grow
    /// the output.
    fn try_pong(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        self.try_flush(writer)?;
        if let Some(payload) = self.pong.take() {
            self.append_control(Opcode::Pong, &payload)?;
        }
        self.try_flush(writer)
    }

    /// Sends the close frame, if no other frame is unfinished and it was not sent before.
    pub(super) fn close(&mut self, code: u16, writer: &dyn StreamWriter) {
        if self.is_closed || self.frame_done < self.frame_len {
            return;
        }
        // The stream ends even if the close frame does not reach the peer.
        let _ = self
            .append_control(Opcode::Close, &code.to_be_bytes())
            .and_then(|()| self.try_flush(writer));
        self.is_closed = true;
    }

    fn append_control(&mut self, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::new();
        append_control(&mut frame, opcode, payload, self.new_mask()?);
        self.output.extend_from_slice(&frame);
        Ok(())
    }

    fn new_mask(&self) -> io::Result<Option<Mask>> {
        match self.side {
            Side::Client => random().map(Some),
            Side::Server => Ok(None),
        }
    }

    fn try_flush(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        while !self.output.is_empty() {
            match writer.try_write(&self.output)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.output.advance(count),
            }
        }
        Ok(())
    }
}

/// Returns the length of the frame that begins with these bytes: the length of one message. Ice for C++ fails to read a
/// masked frame in which a second message begins.
///
/// Source: observed: Ice 3.7.8.
fn payload_len(bytes: &[u8]) -> usize {
    let header = bytes.first_chunk();
    let header = header.and_then(|header| Header::decode(header, i32::MAX as usize).ok());
    header.map_or(bytes.len(), |header| header.size)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::task::{Context, Poll};

    use floe_wire::message::VALIDATE_CONNECTION;

    use super::*;

    /// A stream that accepts all bytes.
    #[derive(Default)]
    struct TakenWrites(Mutex<Vec<Vec<u8>>>);

    impl StreamWriter for TakenWrites {
        fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.0.lock().expect("unpoisoned");
            taken.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn shutdown(&self) {}
    }

    /// A stream that accepts no bytes.
    struct FullStream;

    impl StreamWriter for FullStream {
        fn try_write(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn shutdown(&self) {}
    }

    #[test]
    fn pings_of_a_peer_that_does_not_read_do_not_grow_the_output() {
        let mut sending = WsSending::new(Side::Server);
        let mut ping = |byte: u8, writer: &dyn StreamWriter| {
            sending.pong = Some(vec![byte; 125]);
            sending.send_pong(writer).expect("it leaves later");
            sending.output.len()
        };
        let answer_len = 2 + 125;
        for _ in 0..1000 {
            assert_eq!(ping(1, &FullStream), answer_len);
        }
        let writer = TakenWrites::default();
        assert_eq!(ping(2, &writer), 0);
        let taken = writer.0.into_inner().expect("unpoisoned").concat();
        assert_eq!(taken.len(), 2 * answer_len, "the first and the last");
        assert!(taken.ends_with(&[2; 125]));
    }

    #[test]
    fn messages_that_are_written_together_leave_together_in_a_frame_each() {
        let writer = TakenWrites::default();
        let three = VALIDATE_CONNECTION.repeat(3);
        let count = WsSending::new(Side::Server).try_write(&three, &writer);
        assert_eq!(count.expect("taken"), three.len());
        let frame = [&[0x82, 14], &VALIDATE_CONNECTION[..]].concat();
        let writes = writer.0.into_inner().expect("unpoisoned");
        assert_eq!(writes, [frame.repeat(3)]);
    }
}
