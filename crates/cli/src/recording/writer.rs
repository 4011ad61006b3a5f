//! Writes a recording.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::Path;

use mcap::records::{MessageHeader, Metadata};
use mcap::{McapError, WriteOptions, Writer};

use super::ENCODING;

/// The Slice files of a recording.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    /// The interface, if it was named.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A recording that is being written.
pub(crate) struct RecordingWriter {
    writer: Writer<BufWriter<File>>,
    channels: Vec<Channel>,
}

struct Channel {
    id: u16,
    /// The number of its next message.
    next: u32,
}

impl RecordingWriter {
    /// Creates the file of a recording of these topics. A file that is there already is not touched, unless it may be
    /// overwritten.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(
        path: &Path,
        overwrites: bool,
        topics: &[String],
        schema: Option<&Schema>,
    ) -> Result<Self, McapError> {
        let mut options = OpenOptions::new();
        options.write(true).truncate(true);
        match overwrites {
            true => options.create(true),
            false => options.create_new(true),
        };
        let file = options.open(path)?;
        let library = concat!("floe ", env!("CARGO_PKG_VERSION"));
        let mut writer = WriteOptions::new()
            .compression(None)
            .library(library)
            .create(BufWriter::new(file))?;
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
        Ok(Self { writer, channels })
    }

    /// Writes an event of a topic, which is named by its place, at a time in nanoseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&mut self, topic: usize, time: u64, event: &[u8]) -> Result<(), McapError> {
        let channel = &mut self.channels[topic];
        let header = MessageHeader {
            channel_id: channel.id,
            sequence: channel.next,
            log_time: time,
            publish_time: time,
        };
        channel.next = channel.next.wrapping_add(1);
        self.writer.write_to_known_channel(&header, event)
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
        let file = self.writer.into_inner().into_inner();
        file.map_err(|error| error.into_error())?.sync_all()?;
        Ok(())
    }
}
