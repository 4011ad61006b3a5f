//! Decodes frames.

use super::frame::{CONTROL_LEN_MAX, FIN, LEN_16, LEN_64, MASKED, apply_mask};
use super::{Mask, Opcode, WebSocketError};

/// Which end of a WebSocket this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that connected. It masks its frames.
    Client,
    /// The side that accepted. It expects masked frames.
    Server,
}

/// The next item in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// This many bytes of payload were appended to the output.
    Data(usize),
    /// A ping with this payload, which is to be answered.
    Ping(Vec<u8>),
    /// A pong, which can be ignored.
    Pong,
    /// The end, with the peer's code if it sent one.
    Close(Option<u16>),
}

/// Decodes frames from bytes that arrive in any pieces.
///
/// ```text
/// between frames --header--> in a data frame --last byte--> between frames
/// between frames --whole control frame--> between frames
/// ```
#[derive(Debug)]
pub struct FrameReader {
    side: Side,
    /// The data frame whose payload is arriving.
    data: Option<Payload>,
    /// True if a message has begun and its last frame has not come.
    is_fragmented: bool,
}

#[derive(Debug, Clone, Copy)]
struct Payload {
    mask: Mask,
    taken: u64,
    len: u64,
}

#[derive(Debug, Clone, Copy)]
struct FrameHeader {
    start: [u8; 2],
    is_last: bool,
    opcode: Opcode,
    mask: Option<Mask>,
    payload_len: u64,
    header_len: usize,
}

impl FrameReader {
    /// A reader at the start of the first frame. `side` is our own side.
    pub fn new(side: Side) -> Self {
        Self {
            side,
            data: None,
            is_fragmented: false,
        }
    }

    /// Takes the next item off the front of `input`. Returns how many bytes it took. Appends payload to `output`, as
    /// far as there is room. Returns `None` if the input is incomplete.
    ///
    /// # Errors
    /// [`WebSocketError`]: the connection must be dropped.
    pub fn read(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, Option<Incoming>), WebSocketError> {
        let mut at = 0;
        if self.data.is_none() {
            let Some(header) = FrameHeader::parse(input)? else {
                return Ok((0, None));
            };
            self.check(&header)?;
            if header.opcode.is_control() {
                return Ok(read_control(&header, input));
            }
            at = header.header_len;
            self.is_fragmented = !header.is_last;
            self.data = Some(Payload {
                mask: header.mask.unwrap_or_default(),
                taken: 0,
                len: header.payload_len,
            });
        }
        let count = self.read_data(&input[at..], output);
        let event = (count > 0).then_some(Incoming::Data(count));
        Ok((at + count, event))
    }

    fn read_data(&mut self, input: &[u8], output: &mut [u8]) -> usize {
        let Some(data) = &mut self.data else {
            return 0;
        };
        let missing = usize::try_from(data.len - data.taken).unwrap_or(usize::MAX);
        let count = missing.min(input.len()).min(output.len());
        output[..count].copy_from_slice(&input[..count]);
        apply_mask(&mut output[..count], data.mask, (data.taken % 4) as usize);
        data.taken += count as u64;
        if data.taken == data.len {
            self.data = None;
        }
        count
    }

    fn check(&self, header: &FrameHeader) -> Result<(), WebSocketError> {
        let expected = match (header.opcode, self.side, header.mask) {
            (_, Side::Server, None) => "a masked frame from a client",
            (_, Side::Client, Some(_)) => "a frame without a mask from a server",
            (opcode, ..) if opcode.is_control() && !header.is_last => {
                "a control frame in one piece"
            }
            (opcode, ..) if opcode.is_control() && header.payload_len > CONTROL_LEN_MAX as u64 => {
                "at most 125 bytes in a control frame"
            }
            (Opcode::Close, ..) if header.payload_len == 1 => {
                "a close frame with a code or nothing"
            }
            (opcode, ..) if opcode.is_control() => return Ok(()),
            _ if header.payload_len > i64::MAX as u64 => "a length of at most 63 bits",
            _ if header.payload_len == 0 => "a data frame that is not empty",
            (Opcode::Continuation, ..) if !self.is_fragmented => "a message before more of it",
            (Opcode::Binary, ..) if self.is_fragmented => "more of the message that has begun",
            _ => return Ok(()),
        };
        Err(WebSocketError::Frame {
            expected,
            start: header.start,
        })
    }
}

impl FrameHeader {
    /// Decodes a header. Returns `None` if it is incomplete.
    fn parse(input: &[u8]) -> Result<Option<Self>, WebSocketError> {
        let Some(&start) = input.first_chunk::<2>() else {
            return Ok(None);
        };
        // The reserved bits count as opcode bits here, since no extension has been negotiated.
        let opcode = Opcode::from_code(start[0] & !FIN).ok_or(WebSocketError::Frame {
            expected: "binary data or a control frame, without extensions",
            start,
        })?;
        Ok(Self::parse_lengths(input, start, opcode))
    }

    fn parse_lengths(input: &[u8], start: [u8; 2], opcode: Opcode) -> Option<Self> {
        let [first, second] = start;
        let rest = &input[2..];
        let (payload_len, len_len) = match second & !MASKED {
            LEN_16 => (u64::from(u16::from_be_bytes(*rest.first_chunk()?)), 2),
            LEN_64 => (u64::from_be_bytes(*rest.first_chunk()?), 8),
            len => (u64::from(len), 0),
        };
        let is_masked = second & MASKED != 0;
        let mask = match is_masked {
            true => Some(*rest.get(len_len..)?.first_chunk::<4>()?),
            false => None,
        };
        Some(Self {
            start,
            is_last: first & FIN != 0,
            opcode,
            mask,
            payload_len,
            header_len: 2 + len_len + mask.map_or(0, |mask| mask.len()),
        })
    }
}

/// Takes a whole control frame, whose header has been checked.
fn read_control(header: &FrameHeader, input: &[u8]) -> (usize, Option<Incoming>) {
    let end = header.header_len + header.payload_len as usize;
    let Some(payload) = input.get(header.header_len..end) else {
        return (0, None);
    };
    let mut payload = payload.to_vec();
    apply_mask(&mut payload, header.mask.unwrap_or_default(), 0);
    let event = match header.opcode {
        Opcode::Ping => Incoming::Ping(payload),
        Opcode::Close => {
            Incoming::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code)))
        }
        _ => Incoming::Pong,
    };
    (end, Some(event))
}
