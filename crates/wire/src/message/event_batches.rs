//! Writes events to one object as batches.

use super::head::BLOCK_MAX;
use super::header::{begin_message, end_message};
use super::{HEADER_LEN, MessageType, RequestTarget};
use crate::encoding::EncodeError;

/// Writes events to one target as BatchRequest messages, one after the other.
///
/// ```text
/// | header | count | target event | target event | .. | header | count | ..
/// ```
///
/// The messages are complete only after [`EventBatches::finish`].
#[derive(Debug)]
pub struct EventBatches<'a> {
    target: &'a RequestTarget,
    buffer: &'a mut Vec<u8>,
    len_max: usize,
    /// The start of the current message.
    start: usize,
    /// The number of requests in the current message.
    count: i32,
}

impl<'a> EventBatches<'a> {
    /// Appends messages to `buffer`. A message has at most `len_max` bytes, unless a single event is longer.
    pub fn new(target: &'a RequestTarget, buffer: &'a mut Vec<u8>, len_max: usize) -> Self {
        Self {
            target,
            start: buffer.len(),
            buffer,
            // The size of a longer message would not fit.
            len_max: len_max.min(i32::MAX as usize),
            count: 0,
        }
    }

    /// Reserves memory for `count` events with `byte_len` bytes together.
    pub fn reserve(&mut self, count: usize, byte_len: usize) {
        let targets_len = count.saturating_mul(self.target.len());
        let len = targets_len.saturating_add(byte_len);
        self.buffer
            .reserve(len.saturating_add(REQUESTS_START + BLOCK_MAX));
    }

    /// Adds an event, as [`IncomingRequest::event_bytes`](super::IncomingRequest::event_bytes) gives it.
    ///
    /// # Errors
    /// [`EncodeError`] if a message gets longer than its size can say.
    #[inline]
    pub fn push(&mut self, event: &[u8]) -> Result<(), EncodeError> {
        let len = self.buffer.len() - self.start + self.target.len() + event.len();
        if self.count > 0 && len > self.len_max {
            self.end()?;
        }
        if self.count == 0 {
            self.start = begin_message(self.buffer, MessageType::BatchRequest);
            self.buffer.extend_from_slice(&[0; 4]);
        }
        self.target.write_event_body(self.buffer, event);
        self.count += 1;
        Ok(())
    }

    /// Adds events of `len` bytes each, stored one after the other.
    ///
    /// # Errors
    /// As [`EventBatches::push`].
    ///
    /// # Panics
    /// If an event is empty, or the last one is not whole.
    pub fn push_alike(&mut self, events: &[u8], len: usize) -> Result<(), EncodeError> {
        assert!(len > 0 && events.len().is_multiple_of(len), "whole events");
        let step = self.target.len() + len;
        let mut rest = events;
        while let Some((first, others)) = rest.split_at_checked(len) {
            // The event may begin a message. The next events go into the same message while there is room.
            self.push(first)?;
            let left = self.len_max.saturating_sub(self.buffer.len() - self.start);
            let fitting = others.len().min((left / step).saturating_mul(len));
            let (fitting, others) = others.split_at(fitting);
            self.target.write_event_bodies(self.buffer, fitting, len);
            self.count += (fitting.len() / len) as i32;
            rest = others;
        }
        Ok(())
    }

    /// Ends the last message.
    ///
    /// # Errors
    /// As [`EventBatches::push`].
    pub fn finish(mut self) -> Result<(), EncodeError> {
        match self.count {
            0 => Ok(()),
            _ => self.end(),
        }
    }

    fn end(&mut self) -> Result<(), EncodeError> {
        let at = self.start + HEADER_LEN;
        self.buffer[at..at + 4].copy_from_slice(&self.count.to_le_bytes());
        self.count = 0;
        end_message(self.buffer, self.start)
    }
}

/// Header and count.
const REQUESTS_START: usize = HEADER_LEN + 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::BatchWriter;
    use crate::reference::Identity;

    #[test]
    fn the_messages_equal_those_of_the_batch_writer() {
        let target = RequestTarget::new(&Identity::new("subscriber"), "");
        let events: Vec<Vec<u8>> = (0..100)
            .map(|at| vec![at; usize::from(at) % 7 + 1])
            .collect();
        for len_max in [0, 30, 60, 61, 62, 500, usize::MAX] {
            let (mut writer, mut expected) = (BatchWriter::default(), b"before".to_vec());
            for event in &events {
                let full = writer.push_event(&target, event, len_max).unwrap();
                expected.extend(full.unwrap_or_default());
            }
            expected.extend(writer.finish().unwrap());
            let mut buffer = b"before".to_vec();
            let mut batches = EventBatches::new(&target, &mut buffer, len_max);
            batches.reserve(events.len(), 1);
            events.iter().for_each(|event| batches.push(event).unwrap());
            batches.finish().unwrap();
            assert_eq!(buffer, expected, "{len_max}");
        }
    }

    #[test]
    fn events_of_one_length_are_added_as_one_by_one() {
        let name =
            "a subscriber whose name is longer than a block of those that are copied at once";
        for (name_len, len) in [
            (1, 1),
            (20, 21),
            (29, 32),
            (30, 33),
            (8, 64),
            (61, 9),
            (62, 3),
            (79, 70),
        ] {
            let target = RequestTarget::new(&Identity::new(&name[..name_len]), "");
            let events: Vec<u8> = (0..100 * len).map(|at| at as u8).collect();
            for len_max in [0, 100, 1000, usize::MAX] {
                for count in [1, 2, 3, 99, 100] {
                    let events = &events[..count * len];
                    let (mut buffer, mut expected) = (b"before".to_vec(), b"before".to_vec());
                    let mut batches = EventBatches::new(&target, &mut expected, len_max);
                    let mut each = events.chunks_exact(len);
                    each.try_for_each(|event| batches.push(event)).unwrap();
                    batches.finish().unwrap();
                    let mut batches = EventBatches::new(&target, &mut buffer, len_max);
                    batches.push_alike(&events[..len], len).unwrap();
                    batches.push_alike(&events[len..], len).unwrap();
                    batches.finish().unwrap();
                    assert_eq!(buffer, expected, "{name_len} {len} {len_max} {count}");
                }
            }
        }
    }

    #[test]
    fn without_events_there_is_no_message() {
        let target = RequestTarget::new(&Identity::new("s"), "");
        let mut buffer = Vec::new();
        let batches = EventBatches::new(&target, &mut buffer, 100);
        batches.finish().unwrap();
        assert!(buffer.is_empty());
    }
}
