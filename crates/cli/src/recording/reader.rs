//! Reads a recording, which may come from anywhere.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use floe::forwarding::EventParts;
use mcap::records::Record;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{McapError, parse_record};

use super::framing::{Framing, RecordExceedsChunk};
use super::unpacked::Unpacked;

/// How messages are encoded.
const ENCODING: &str = "ice-event";

/// The key in a channel's metadata that says of which topic it shows the events in another form.
pub(crate) const VIEW_OF: &str = "floe.viewOf";

/// Reads the events of a recording, from its beginning to its end.
pub(crate) struct RecordingReader<R> {
    input: Unpacked<R>,
    reader: LinearReader,
    framing: Framing,
    /// The topics of the channels that hold events.
    topics: HashMap<u16, Arc<str>>,
    /// The channels that show the same events in another form.
    views: HashSet<u16>,
    /// How many messages were no events.
    skipped: u64,
    /// True if a whole record was read: a file that ends before is no recording.
    has_record: bool,
    is_cut: bool,
}

/// An event of a recording. Its bytes have been checked, except the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedEvent {
    pub(crate) topic: Arc<str>,
    /// When it was recorded, in nanoseconds since 1970.
    pub(crate) time: u64,
    /// Operation, mode, context and parameters.
    pub(crate) bytes: Vec<u8>,
}

impl<R: Read> RecordingReader<R> {
    /// A longer record of the file is refused, before it is read.
    const RECORD_LEN_MAX: usize = 256 << 20;
    /// A file with more channels is refused.
    const CHANNELS_MAX: usize = 10_000;

    /// Begins to read.
    pub(crate) fn new(input: R) -> Self {
        let options = LinearReaderOptions::default()
            .with_validate_chunk_crcs(true)
            .with_record_length_limit(Self::RECORD_LEN_MAX);
        Self {
            input: Unpacked::new(input),
            reader: LinearReader::new_with_options(options),
            framing: Framing::new(),
            topics: HashMap::new(),
            views: HashSet::new(),
            skipped: 0,
            has_record: false,
            is_cut: false,
        }
    }

    /// How many messages were no events so far.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns true if the file ended within a record: its recorder was ended before it was done.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The next event. `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is no recording.
    pub(crate) fn next(&mut self) -> Result<Option<RecordedEvent>, RecordingError> {
        loop {
            let Some(event) = self.reader.next_event() else {
                return Ok(None);
            };
            let (opcode, data) = match event {
                Ok(LinearReadEvent::ReadRequest(count)) => {
                    let count = count.clamp(Self::READ_LEN_MIN, Self::READ_LEN_MAX);
                    let buffer = self.reader.insert(count);
                    let read = read(&mut self.input, buffer)?;
                    self.framing.check(&buffer[..read])?;
                    self.reader.notify_read(read);
                    continue;
                }
                Ok(LinearReadEvent::Record { opcode, data }) => (opcode, data),
                Err(McapError::UnexpectedEof | McapError::UnexpectedEoc) if self.has_record => {
                    self.is_cut = true;
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            self.has_record = true;
            match parse_record(opcode, data)? {
                Record::Channel(channel) if channel.message_encoding == ENCODING => {
                    self.topics.insert(channel.id, channel.topic.into());
                    if self.topics.len() > Self::CHANNELS_MAX {
                        return Err(RecordingError::TooManyChannels);
                    }
                }
                Record::Channel(channel) if channel.metadata.contains_key(VIEW_OF) => {
                    self.views.insert(channel.id);
                }
                Record::Message { header, .. } if self.views.contains(&header.channel_id) => {}
                Record::Message { header, data } => {
                    let topic = self.topics.get(&header.channel_id);
                    match topic.filter(|_| EventParts::parse(&data).is_ok()) {
                        Some(topic) => {
                            return Ok(Some(RecordedEvent {
                                topic: topic.clone(),
                                time: header.log_time,
                                bytes: data.into_owned(),
                            }));
                        }
                        None => self.skipped += 1,
                    }
                }
                _ => {}
            }
        }
    }

    /// At least this many bytes are read at a time.
    const READ_LEN_MIN: usize = 64 << 10;
    /// At most this many: a length in the file is not trusted before its bytes are there.
    const READ_LEN_MAX: usize = 1 << 20;
}

fn read(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Why a recording cannot be read.
#[derive(Debug)]
pub(crate) enum RecordingError {
    Read(io::Error),
    Format(McapError),
    RecordExceedsChunk,
    TooManyChannels,
}

impl From<RecordExceedsChunk> for RecordingError {
    fn from(_: RecordExceedsChunk) -> Self {
        Self::RecordExceedsChunk
    }
}

impl From<io::Error> for RecordingError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<McapError> for RecordingError {
    fn from(error: McapError) -> Self {
        Self::Format(error)
    }
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{error}"),
            // Its own text does not name the cause.
            Self::Format(McapError::Io(error)) => write!(f, "{error}"),
            Self::Format(error) => write!(f, "it is no MCAP file, or a damaged one: {error}"),
            Self::RecordExceedsChunk => f.write_str(
                "it is a damaged MCAP file: a record in a chunk is longer than the chunk",
            ),
            Self::TooManyChannels => f.write_str("it has more than 10000 channels"),
        }
    }
}
