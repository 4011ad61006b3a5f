//! Leaves out events that newer ones of their keys have replaced, in the segments that are no longer written.

use std::hash::RandomState;
use std::io;

use floe::forwarding::Events;

use super::super::storage::UNFINISHED_SUFFIX;
use super::super::{Level, LogError, PerKey, ReadLimits};
use super::Shared;
use super::reading::{Source, fill};
use crate::core::log::{Compacted, Compaction, Floor, Index, Item, Segment, segment_name};

impl Shared {
    /// Writes segments again without the events that are no longer kept. Their readers go on meanwhile.
    ///
    /// It returns immediately unless a segment has been finished since the last time, up to the sequence `compacted`.
    pub(super) fn compact(&self, per_key: &PerKey, compacted: &mut u64) -> Result<(), LogError> {
        let finished: Vec<Segment> = {
            let catalog = self.catalog();
            let is_finished = |segment: &&Segment| matches!(segment.index, Index::InFile(_));
            catalog
                .segments
                .iter()
                .filter(is_finished)
                .cloned()
                .collect()
        };
        let Some(last) = finished.last().filter(|last| last.next > *compacted) else {
            return Ok(());
        };
        let floor = self.catalog().floor;
        let mut compaction =
            Compaction::new(per_key.clone(), [RandomState::new(), RandomState::new()]);
        self.count_keys(finished[0].first, &mut compaction)?;
        for segment in finished.iter().filter(|it| it.next > floor.sequence) {
            let rewritten = self.rewrite(segment, floor, &mut compaction);
            rewritten.map_err(|error| self.error("compact", segment.first, error))?;
        }
        *compacted = last.next;
        Ok(())
    }

    /// Counts the events of each key. Only those that are synced: an event must not replace another and then be lost.
    fn count_keys(&self, mut from: u64, compaction: &mut Compaction) -> Result<(), LogError> {
        let limits = ReadLimits {
            level: Level::Synced,
            events: usize::MAX,
            ..ReadLimits::default()
        };
        loop {
            let batch = self.read(from, &limits)?;
            for event in batch.events.iter().flat_map(Events::iter) {
                compaction.count(event);
            }
            if batch.next == from {
                return Ok(());
            }
            from = batch.next;
        }
    }

    fn rewrite(
        &self,
        segment: &Segment,
        floor: Floor,
        compaction: &mut Compaction,
    ) -> io::Result<()> {
        let name = segment_name(segment.first);
        let new_name = format!("{name}{UNFINISHED_SUFFIX}");
        let rewritten = self.write_kept(segment, floor, compaction, &name, &new_name)?;
        let Some(rewritten) = rewritten else {
            return self.storage.remove(&new_name);
        };
        let mut hints = self.hints.lock().expect(super::POISONED);
        let mut catalog = self.catalog_mut();
        if catalog.floor != floor && catalog.floor.sequence > segment.first {
            // The count of events before the floor would be wrong. The segment is about to go.
            drop((catalog, hints));
            return self.storage.remove(&new_name);
        }
        // Readers open a file while they hold the catalog, so they see the old file with its entry, or the new file
        // with the new entry.
        self.storage.rename(&new_name, &name)?;
        hints.forget(segment.first);
        let first = rewritten.first;
        if let Some(known) = catalog
            .segments
            .iter_mut()
            .find(|known| known.first == first)
        {
            *known = rewritten;
        }
        drop((catalog, hints));
        self.storage.sync_names()
    }

    /// Writes the remaining events to a new file. Returns `None` if all remain, or if the segment is damaged, which is
    /// then left as it is.
    fn write_kept(
        &self,
        segment: &Segment,
        floor: Floor,
        compaction: &mut Compaction,
        name: &str,
        new_name: &str,
    ) -> io::Result<Option<Segment>> {
        let (old, new) = (self.storage.open(name)?, self.storage.create(new_name)?);
        let division = self.queue().settings.division();
        let mut compacted = Compacted::new(segment, division);
        let mut cursor =
            Source::new(segment, |_| 0).cursor(&*old, |index| Segment::offset_of(index, 0))?;
        let (mut is_changed, mut is_damaged) = (false, false);
        loop {
            match cursor.step() {
                Item::Wanted => fill(&mut cursor, &*old, READ_LEN)?,
                Item::Bad(_) => is_damaged = true,
                Item::End => break,
                // Events before the floor were not counted. Their file goes when all its events have gone.
                Item::Record(record)
                    if record.sequence < floor.sequence || compaction.keeps(record.event) =>
                {
                    compacted.add(&record, &record.stamp());
                }
                Item::Record(_) => is_changed = true,
            }
            if let Some((bytes, offset)) = compacted.take() {
                new.write_at(&bytes, offset)?;
            }
        }
        if !is_changed || is_damaged {
            return Ok(None);
        }
        let Some((rewritten, bytes, offset)) = compacted.finish() else {
            return Ok(None);
        };
        new.write_at(&bytes, offset)?;
        new.sync()?;
        Ok(Some(rewritten))
    }
}

/// How many bytes are read at a time.
const READ_LEN: usize = 256 << 10;
