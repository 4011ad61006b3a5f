//! The plan that a seed makes before a run: limits, weather, and faults.

use std::time::Duration;

use crate::keepalive::Manner;
use crate::pipe::Weather;
use crate::random::Random;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing but closes in order: then nothing may be lost.
    Gentle,
    /// Streams break, connections are dropped, peers fall silent, the clock leaps.
    Rough,
}

/// The plan of one run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The faults of the run.
    pub(crate) trouble: Trouble,
    /// How the network treats bytes.
    pub(crate) weather: Weather,
    /// How each side watches over its connections.
    pub(crate) manners: [Manner; 2],
    /// Calls of both sides.
    pub(crate) call_count: usize,
    /// All of them begin within this time.
    pub(crate) begin_within: Duration,
    /// Calls in a hundred that have a deadline.
    pub(crate) deadline_percent: usize,
    /// Calls in a hundred that the server makes.
    pub(crate) callback_percent: usize,
    /// The longest parameters, in bytes.
    pub(crate) parameters_max: usize,
    /// A dispatch takes at most this long.
    pub(crate) dispatch_max: Duration,
    /// Attempts to connect in a hundred that fail.
    pub(crate) refused_percent: usize,
    /// Graceful closes by each side.
    pub(crate) closes: [usize; 2],
    /// True if both sides close at about the same time, too.
    pub(crate) closes_together: bool,
    /// Troubles of each kind, in a rough run.
    pub(crate) cut_count: usize,
    pub(crate) abort_count: usize,
    pub(crate) silence_count: usize,
    pub(crate) stall_count: usize,
    pub(crate) jump_count: usize,
    /// True if the senders of each side are blocking threads.
    pub(crate) has_blocking_senders: [bool; 2],
    /// Bytes that may wait in an output.
    pub(crate) output_limit: usize,
    /// Dispatches under way on one connection.
    pub(crate) dispatch_limit: usize,
    /// The longest message, in bytes.
    pub(crate) message_size_max: usize,
    /// How long a graceful close may take.
    pub(crate) close_timeout: Duration,
    /// Waits before retries.
    pub(crate) retry_intervals: &'static [Duration],
}

const SECOND: Duration = Duration::from_secs(1);

impl Plan {
    /// The plan of a seed.
    pub(crate) fn draw(random: &mut Random) -> Self {
        let is_rough = random.percent(65);
        let mut trouble = |most| match is_rough {
            true => random.up_to(most),
            false => 0,
        };
        let (cut_count, abort_count, silence_count) = (trouble(6), trouble(3), trouble(3));
        let (stall_count, jump_count, refused_percent) = (trouble(5), trouble(2), trouble(30));
        let deadline_percent = random.one_of(&[0, 0, 10, 40]);
        let weather = Self::weather(random, is_rough);
        // Each piece costs the run some steps.
        let (call_most, parameters_most) = match (weather.piece_max, weather.window) {
            (1, _) => (8, 30),
            (13, _) => (20, 200),
            (_, 64) => (60, 300),
            _ => (60, 20_000),
        };
        let dispatch_limit = random.one_of(&[1, 3, 1_000]);
        // A close waits for them all, and has its time.
        let dispatch_most = match is_rough || dispatch_limit == 1_000 {
            true => SECOND,
            false => SECOND / 100,
        };
        Self {
            trouble: if is_rough {
                Trouble::Rough
            } else {
                Trouble::Gentle
            },
            weather,
            manners: Self::manners(random),
            call_count: random.between(1, call_most),
            begin_within: random.one_of(&[
                Duration::ZERO,
                Duration::from_millis(20),
                2 * SECOND,
                20 * SECOND,
                400 * SECOND,
            ]),
            deadline_percent,
            callback_percent: random.one_of(&[0, 0, 20, 50]),
            parameters_max: random.one_of(&[0, 50, 1_000, 20_000]).min(parameters_most),
            dispatch_max: random
                .one_of(&[Duration::ZERO, SECOND / 100, SECOND])
                .min(dispatch_most),
            refused_percent,
            closes: [random.up_to(2), random.up_to(2)],
            closes_together: random.percent(40),
            cut_count,
            abort_count,
            silence_count,
            stall_count,
            jump_count,
            has_blocking_senders: [random.percent(50), random.percent(50)],
            output_limit: random.one_of(&[0, 1_000, 100_000]),
            dispatch_limit,
            message_size_max: 32 * 1024,
            close_timeout: 10 * SECOND,
            retry_intervals: random.one_of(&[&[][..], &[Duration::ZERO], &[SECOND, SECOND]]),
        }
    }

    fn weather(random: &mut Random, is_rough: bool) -> Weather {
        let (rate_least, window_least) = match is_rough {
            true => (2_000, 64),
            // Otherwise a close would not end in its time.
            false => (1_000_000, 65_536),
        };
        Weather {
            delay_max: random.one_of(&[Duration::ZERO, SECOND / 1_000, SECOND / 5]),
            rate: random.one_of(&[rate_least, 10_000_000]),
            window: random.one_of(&[window_least, 4_096.max(window_least), 65_536]),
            piece_max: random.one_of(&[1, 13, 1_500, 65_536]),
        }
    }

    /// One side at least is ours.
    fn manners(random: &mut Random) -> [Manner; 2] {
        let other = random.one_of(&[Manner::Floe, Manner::Ice37, Manner::Ice38]);
        match random.percent(50) {
            true => [Manner::Floe, other],
            false => [other, Manner::Floe],
        }
    }
}
