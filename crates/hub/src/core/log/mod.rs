//! The pure part of the log of a durable topic: what is kept, where, and for how long.
//!
//! - `level.rs`: how safe an event is when its publisher is answered
//! - `entry.rs`: what is appended, and what is known of a kept event
//! - `checks.rs`: which events a log refuses
//! - `position.rs`: where a reader begins, and what it finds missing
//! - `retention.rs`: how long events are kept
//! - `record.rs`, `segment.rs`: the bytes of an event and of a file
//! - `cursor.rs`: walks over records, and past damaged ones
//! - `catalog.rs`: the segments, and which of them holds an event
//! - `floor.rs`: the first event that is kept, which may lie within a segment
//! - `steady_clock.rs`: a clock that does not follow each jump; `plausible.rs`: times from when it was wrong
//! - `writer.rs`: which bytes are written where, and what is true after a failure
//! - `compaction.rs`: which events newer ones of their keys have replaced
//! - `inspection.rs`: looks at a segment without the rest of its log
//! - `recovery.rs`: what a log holds, judged by the files that were found

mod catalog;
mod checks;
mod compaction;
mod cursor;
mod entry;
mod floor;
mod inspection;
mod level;
mod plausible;
mod position;
mod record;
mod recovery;
mod retention;
mod segment;
mod steady_clock;
mod writer;

pub(crate) use catalog::{Catalog, Index, Located, Segment};
pub(crate) use checks::checked;
pub use checks::{EVENT_LEN_MAX, Refusal};
pub(crate) use compaction::{Compacted, Compaction};
pub(crate) use cursor::{Cursor, Item};
pub(crate) use entry::numbered;
pub use entry::{Append, EventTime, Origin, Stamp};
pub(crate) use floor::Floor;
pub use inspection::{Inspection, inspect_segment};
pub use level::{Level, LevelError};
pub(crate) use plausible::{PlausibleTimes, is_ahead};
pub(crate) use position::until_full;
pub use position::{Gap, GapReason, Position, ReadLimits};
pub(crate) use record::Record;
pub(crate) use recovery::{Examined, FoundDamage, Recovery, Scan, ScanStep};
pub(crate) use retention::NewestEvents;
pub use retention::{PerKey, Retention};
pub(crate) use segment::{Header, IndexEntry, Trailer, segment_first, segment_name};
pub(crate) use steady_clock::{ClockNotice, ClockReading, SteadyClock};
pub(crate) use writer::{Commit, Division, Lost, Step, Writer};
