//! Writes a recording.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use mcap::records::{MessageHeader, Metadata};
use mcap::{McapError, WriteOptions, Writer};

use super::{ENCODING, View};

/// The Slice files of a recording.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    /// The interface, if it was named.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A recording that is being written.
pub(crate) struct RecordingWriter {
    /// Crate `mcap` (0.23.4) finishes a writer that is dropped, and panics if a write has failed before, as on a full disk.
    writer: ManuallyDrop<Writer<BufWriter<File>>>,
    topics: Vec<String>,
    channels: Vec<Channel>,
    /// These events for viewers, if that is wanted.
    view: Option<View>,
}

pub(super) struct Channel {
    pub(super) id: u16,
    /// The number of its next message.
    pub(super) next: u32,
}

/// The file of a recording that has not begun.
#[derive(Debug)]
pub(crate) struct RecordingFile {
    file: File,
    path: PathBuf,
    /// True if it was not there before.
    is_new: bool,
}

impl RecordingFile {
    /// Opens the file of a recording. A file that is there already keeps what it has until the recording begins, and is an error
    /// unless it may be overwritten.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path, overwrites: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true);
        #[cfg(unix)]
        {
            // Events are for those who may subscribe.
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let (file, is_new) = match options.clone().create_new(true).open(path) {
            Err(error) if overwrites && error.kind() == io::ErrorKind::AlreadyExists => {
                // A link to a file that is not there yet is there, too.
                (options.create(true).truncate(false).open(path)?, false)
            }
            created => (created?, true),
        };
        Ok(Self {
            file,
            path: path.to_owned(),
            is_new,
        })
    }

    /// Begins the recording of these topics.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn begin(
        self,
        topics: &[String],
        schema: Option<&Schema>,
        view: Option<View>,
    ) -> Result<RecordingWriter, McapError> {
        // What is no file, such as a device, has no length.
        if !self.is_new && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        RecordingWriter::new(self.file, topics, schema, view)
    }

    /// Leaves everything as if there had been no recording.
    pub(crate) fn discard(self) {
        if self.is_new {
            // Nothing depends on it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Channel {
    /// The header of its next message.
    pub(super) fn next_header(&mut self, time: u64) -> MessageHeader {
        let header = MessageHeader {
            channel_id: self.id,
            sequence: self.next,
            log_time: time,
            publish_time: time,
        };
        self.next = self.next.wrapping_add(1);
        header
    }
}

impl RecordingWriter {
    fn new(
        file: File,
        topics: &[String],
        schema: Option<&Schema>,
        view: Option<View>,
    ) -> Result<Self, McapError> {
        let library = concat!("floe ", env!("CARGO_PKG_VERSION"));
        let writer = WriteOptions::new()
            .compression(None)
            .library(library)
            .create(BufWriter::new(file))?;
        let mut writer = ManuallyDrop::new(writer);
        let schema_id = match schema {
            Some(schema) => writer.add_schema(&schema.name, "slice", schema.text.as_bytes())?,
            None => 0,
        };
        let mut add = |topic: &String| {
            let id = writer.add_channel(schema_id, topic, ENCODING, &BTreeMap::new())?;
            Ok(Channel { id, next: 0 })
        };
        let channels = topics
            .iter()
            .map(&mut add)
            .collect::<Result<_, McapError>>()?;
        Ok(Self {
            writer,
            topics: topics.to_vec(),
            channels,
            view,
        })
    }

    /// Writes an event of a topic, which is named by its place, at a time in nanoseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&mut self, topic: usize, time: u64, event: &[u8]) -> Result<(), McapError> {
        let header = self.channels[topic].next_header(time);
        self.writer.write_to_known_channel(&header, event)?;
        let Some(view) = &mut self.view else {
            return Ok(());
        };
        view.write(&mut self.writer, &self.topics[topic], time, event)
    }

    /// Hands everything that was written to the system: an end of this process does not lose it any more.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn flush(&mut self) -> Result<(), McapError> {
        self.writer.flush()
    }

    /// Finishes the file, with the number of events that were lost.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(mut self, lost: &BTreeMap<String, u64>) -> Result<(), McapError> {
        let count = |(topic, count): (&String, &u64)| (topic.clone(), count.to_string());
        self.writer.write_metadata(&Metadata {
            name: "floe.lost".to_owned(),
            metadata: lost.iter().map(count).collect(),
        })?;
        self.writer.finish()?;
        let file = ManuallyDrop::into_inner(self.writer)
            .into_inner()
            .into_inner();
        file.map_err(|error| error.into_error())?.sync_all()?;
        Ok(())
    }
}
