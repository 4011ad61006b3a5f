//! Looks at a segment without the rest of its log.

use std::ops::Range;

use super::cursor::{Cursor, Item};
use super::segment::{Header, Trailer};
use super::{Division, Examined, Recovery, Scan, ScanStep, Stamp};

/// The contents of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    /// The stamps of its events.
    pub events: Vec<Stamp>,
    /// Where it is damaged: ranges of bytes.
    pub damage: Vec<Range<u64>>,
    /// True if it has a readable end. The segment that is being written has none.
    pub is_finished: bool,
    /// How many events a hub would serve, if this were the last segment of its log.
    pub served: u64,
}

/// Inspects the bytes of a segment, which may come from anywhere. Returns `None` if neither its beginning nor its end
/// can be read.
pub fn inspect_segment(bytes: &[u8]) -> Option<Inspection> {
    let len = bytes.len() as u64;
    let header = Header::parse(bytes);
    let trailer = Trailer::parse(bytes, len);
    let (first, salt) = match (header, trailer) {
        (Some(header), _) => (header.first, header.salt),
        (None, Some(trailer)) => (trailer.first, trailer.salt),
        (None, None) => return None,
    };
    let end = trailer.map_or(len, |trailer| trailer.records_end);
    let mut inspection = Inspection {
        is_finished: trailer.is_some_and(|trailer| {
            let range = trailer.index_range();
            let index = bytes.get(range.start as usize..range.end as usize);
            index.is_some_and(|index| trailer.parse_index(index).is_some())
        }),
        served: served(bytes, first),
        ..Inspection::default()
    };
    let mut cursor = Cursor::new(salt, Header::LEN as u64, end, first..u64::MAX);
    loop {
        match cursor.step() {
            Item::Record(record) => inspection.events.push(record.stamp()),
            Item::Bad(range) => inspection.damage.push(range),
            Item::Wanted => fill(&mut cursor, bytes),
            Item::End => return Some(inspection),
        }
    }
}

fn served(bytes: &[u8], first: u64) -> u64 {
    let division = Division {
        segment_bytes: u64::MAX,
        index_bytes: 64 << 10,
    };
    let mut recovery = Recovery::new();
    let tail = &bytes[bytes.len().saturating_sub(Trailer::LEN)..];
    if let Examined::Scan(mut scan) = recovery.examine(first, bytes.len() as u64, bytes, tail, true)
    {
        while scan.run(&division) == ScanStep::Wanted {
            fill(Scan::cursor(&mut scan), bytes);
        }
        recovery.take_last(*scan);
    }
    recovery.finish().0.events()
}

fn fill(cursor: &mut Cursor, bytes: &[u8]) {
    let (room, offset) = cursor.room(READ_LEN);
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|offset| bytes.get(offset..));
    let rest = rest.unwrap_or_default();
    let (room_len, len) = (room.len(), rest.len().min(room.len()));
    room[..len].copy_from_slice(&rest[..len]);
    cursor.filled(len, room_len);
}

const READ_LEN: usize = 64 << 10;
