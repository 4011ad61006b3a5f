//! The work of a pinger: each message is published when the one before was answered.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::case::{MEASURED, PRIMERS, PROBE};
use crate::contender::{Failure, announce};
use crate::sample::Sample;

/// The messages of a pinger. The thread that gets an answer publishes the next message.
#[derive(Debug)]
pub(super) struct Pinger {
    /// Guards what was measured. The thread that probes only looks.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The message that is to be answered.
    pending: i32,
    published: Instant,
    sample: Sample,
}

impl Pinger {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                pending: PROBE,
                published: Instant::now(),
                sample: Sample::new(),
            }),
        }
    }

    /// Returns true while no probe is answered.
    pub(super) fn is_probing(&self) -> bool {
        self.state().pending == PROBE
    }

    /// Publishes probes until one is answered, or `publish` fails. The rest is done by [`Pinger::answered`].
    pub(super) fn probe(
        &self,
        mut publish: impl FnMut(i32) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while self.is_probing() {
            publish(PROBE)?;
            std::thread::sleep(PROBE_INTERVAL);
        }
        Ok(())
    }

    /// Takes an answer, and publishes the next message. Prints the line when all are answered.
    ///
    /// # Errors
    /// The answer is to no message that waits for one.
    pub(super) fn answered(
        &self,
        number: i32,
        publish: impl FnOnce(i32) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let now = Instant::now();
        let mut state = self.state();
        if number != state.pending {
            let is_late_probe = number == PROBE;
            let expected = state.pending;
            let wrong = format!("expected an answer to message {expected}, got one to {number}");
            return if is_late_probe {
                Ok(())
            } else {
                Err(wrong.into())
            };
        }
        if number >= PRIMERS {
            let elapsed = now.duration_since(state.published).as_secs_f64();
            state.sample.record(elapsed * 1e9, 1);
        }
        state.pending += 1;
        if state.pending == PRIMERS + MEASURED {
            return announce(&state.sample.to_line());
        }
        let next = state.pending;
        state.published = Instant::now();
        drop(state);
        publish(next)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_publishes_the_next_message_and_a_wrong_one_is_an_error() {
        let pinger = Pinger::new();
        let mut published = Vec::new();
        for number in [PROBE, PROBE, 0, 1] {
            pinger
                .answered(number, |next| {
                    published.push(next);
                    Ok(())
                })
                .unwrap();
        }
        // The second answer to a probe publishes nothing.
        assert_eq!(published, [0, 1, 2]);
        let error = pinger.answered(1, |_| Ok(())).unwrap_err().to_string();
        assert_eq!(error, "expected an answer to message 2, got one to 1");
        for number in 2..PRIMERS + 2 {
            pinger.answered(number, |_| Ok(())).unwrap();
        }
        assert_eq!(pinger.state().sample.count(), 2);
    }
}
