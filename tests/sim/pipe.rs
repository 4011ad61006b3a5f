//! One direction of a stream, as a bad network carries it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::random::Random;

/// How a network treats bytes.
#[derive(Debug, Clone)]
pub(crate) struct Weather {
    /// Bytes are under way for at most this long, beyond their time on the link.
    pub(crate) delay_max: Duration,
    /// Bytes that the link carries in a second.
    pub(crate) rate: u64,
    /// Bytes that may be under way, or wait for the reader.
    pub(crate) window: usize,
    /// The most bytes that one write or one read takes.
    pub(crate) piece_max: usize,
}

/// One direction of a stream.
#[derive(Debug)]
pub(crate) struct Pipe {
    weather: Weather,
    /// Pieces under way, and when they arrive.
    under_way: VecDeque<(Duration, Vec<u8>)>,
    /// Bytes that have arrived, and that nobody has read.
    arrived: VecDeque<u8>,
    under_way_len: usize,
    arrives_last: Duration,
    stalled_until: Duration,
    carried_len: u64,
    /// The stream breaks after so many bytes.
    pub(crate) cut_at: Option<u64>,
    /// The writer has ended the stream: what is under way still arrives.
    pub(crate) is_ended: bool,
    /// Nobody will read any more, or the stream is broken.
    pub(crate) is_broken: bool,
    /// Bytes vanish, and nobody is told.
    pub(crate) is_silent: bool,
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing now.
    Nothing,
    /// The end of the stream.
    End,
    /// The stream is broken.
    Broken,
}

impl Pipe {
    /// An open pipe.
    pub(crate) fn new(weather: Weather) -> Self {
        Self {
            weather,
            under_way: VecDeque::new(),
            arrived: VecDeque::new(),
            under_way_len: 0,
            arrives_last: Duration::ZERO,
            stalled_until: Duration::ZERO,
            carried_len: 0,
            cut_at: None,
            is_ended: false,
            is_broken: false,
            is_silent: false,
        }
    }

    /// Holds all bytes up until then.
    pub(crate) fn stall(&mut self, until: Duration) {
        self.stalled_until = self.stalled_until.max(until);
        for (arrives, _) in &mut self.under_way {
            *arrives = (*arrives).max(until);
        }
        self.arrives_last = self.arrives_last.max(until);
    }

    /// Takes a part of these bytes; how many, and when they arrive. `None` if there is no room.
    ///
    /// # Errors
    /// The stream is broken.
    pub(crate) fn write(
        &mut self,
        now: Duration,
        bytes: &[u8],
        random: &mut Random,
    ) -> Result<Option<(usize, Duration)>, ()> {
        if self.is_broken || self.is_ended {
            return Err(());
        }
        let held = self.under_way_len + self.arrived.len();
        let room = self.weather.window.saturating_sub(held);
        let most = room.min(self.weather.piece_max).min(bytes.len());
        if most == 0 {
            return Ok(None);
        }
        let len = random.between(1, most);
        let on_link = Duration::from_secs_f64(len as f64 / self.weather.rate as f64);
        let arrives = (now + random.time(self.weather.delay_max)).max(self.stalled_until);
        let arrives = arrives.max(self.arrives_last) + on_link;
        self.arrives_last = arrives;
        self.under_way_len += len;
        self.under_way.push_back((arrives, bytes[..len].to_vec()));
        Ok(Some((len, arrives)))
    }

    /// Reads some of what has arrived.
    pub(crate) fn read(&mut self, now: Duration, random: &mut Random) -> Read {
        if self.is_silent {
            return Read::Nothing;
        }
        while let Some((_, piece)) = self.under_way.pop_front_if(|(arrives, _)| *arrives <= now) {
            self.under_way_len -= piece.len();
            self.arrived.extend(piece);
        }
        let left = self.cut_at.map_or(u64::MAX, |cut| cut - self.carried_len);
        if self.is_broken || left == 0 {
            return Read::Broken;
        }
        let most = self.arrived.len().min(self.weather.piece_max);
        let most = most.min(usize::try_from(left).unwrap_or(usize::MAX));
        if most == 0 {
            return match self.is_ended && self.under_way.is_empty() {
                true => Read::End,
                false => Read::Nothing,
            };
        }
        let len = random.between(1, most);
        self.carried_len += len as u64;
        Read::Bytes(self.arrived.drain(..len).collect())
    }

    /// Breaks the stream after at most so many bytes more.
    pub(crate) fn cut(&mut self, more: u64) {
        self.cut_at = Some(self.carried_len + more);
    }
}
