//! The metrics of the process: its version, memory and descriptors.

use std::fmt;

use floe::Communicator;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::rows::Rows;
use crate::open_files;

/// The process at one moment.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut rows = Rows(&mut encoder);
        let build = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        rows.gauges("floe_build_info", "The version of Floe", [(build, 1)])?;
        rows.process()
    }
}

/// The compressed streams of all connections at one moment.
#[derive(Debug, Default)]
pub(super) struct CompressedStreams {
    open: usize,
    max: usize,
}

impl CompressedStreams {
    pub(super) fn of(communicator: &Communicator) -> Self {
        Self {
            open: communicator.compression_streams(),
            max: communicator.settings().compression_streams_max,
        }
    }
}

impl Collector for CompressedStreams {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut rows = Rows(&mut encoder);
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let help = "Streams of the compression zstd-stream, one for each direction of a connection; each holds 1.2 to 3 MiB";
        rows.gauge("floe_compressed_streams", help, number(self.open))?;
        let help =
            "The limit of these streams; at the limit, a peer that begins one loses its connection";
        rows.gauge("floe_compressed_streams_max", help, number(self.max))
    }
}

impl Rows<'_, '_> {
    fn process(&mut self) -> fmt::Result {
        if let Some(bytes) = resident_bytes() {
            self.gauge("process_resident_memory_bytes", "Memory in use", bytes)?;
        }
        let Some((open, max)) = open_files::count() else {
            return Ok(());
        };
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let help = "Open descriptors; each connection is one";
        self.gauge("process_open_fds", help, number(open))?;
        let help = "The limit of open descriptors; at the limit, the hub accepts no connections and makes none to subscribers";
        self.gauge("process_max_fds", help, number(max))
    }
}

/// Memory of this process, where the system tells it as Linux does.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok()?;
    kilobytes.checked_mul(1024)
}
