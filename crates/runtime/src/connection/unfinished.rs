//! A message that has arrived in part: how long the rest may take, and how much memory all such messages may hold.
//!
//! A connection has an [`Unfinished`] only while it waits for the rest of a message. ADR 58.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::byte_account::{ByteAccount, HeldBytes};
use crate::settings::Settings;

/// The wait for the rest of a message.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// The memory of this message, in the account of all such messages.
    held: Option<HeldBytes>,
    deadline: Option<Instant>,
    /// Set when a task waits with [`Unfinished::poll_late`]. A thread uses [`Unfinished::check`] instead.
    sleep: Option<Pin<Box<Sleep>>>,
    allowed: Duration,
    /// The size of the whole message, in bytes.
    size: usize,
}

impl Unfinished {
    /// Begins the wait for the rest of a message of `size` bytes.
    pub(super) fn new(size: usize, settings: &Settings, account: Option<Arc<ByteAccount>>) -> Self {
        let allowed = time_for(size, settings);
        Self {
            held: account.map(HeldBytes::none),
            deadline: Instant::now().checked_add(allowed),
            sleep: None,
            allowed,
            size,
        }
    }

    /// Notes that the message holds `len` bytes of memory now.
    ///
    /// # Errors
    /// All unfinished messages together would hold more than the limit.
    pub(super) fn hold(&mut self, len: usize, settings: &Settings) -> io::Result<()> {
        if let Some(used) = self.held.as_mut().and_then(|held| held.set(len)) {
            // One message of the largest size must always fit.
            let limit = settings.input_memory_max.max(settings.message_size_max);
            if used > limit {
                return Err(refused(format!(
                    "the unfinished messages of all connections would hold {used} bytes, and \
                     `Settings::input_memory_max` allows {limit}: raise it if they are legitimate"
                )));
            }
        }
        Ok(())
    }

    /// Checks the deadline, for a thread. `come` is the number of bytes that have arrived.
    ///
    /// # Errors
    /// The deadline has passed.
    pub(super) fn check(&self, come: usize) -> io::Result<()> {
        match self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            true => Err(self.late(come)),
            false => Ok(()),
        }
    }

    /// Waits until the deadline has passed, for a task. `come` is the number of bytes that have arrived.
    pub(super) fn poll_late(&mut self, context: &mut Context<'_>, come: usize) -> Poll<io::Error> {
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        sleep.as_mut().poll(context).map(|()| self.late(come))
    }

    fn late(&self, come: usize) -> io::Error {
        let (size, allowed) = (self.size, self.allowed);
        refused(format!(
            "expected a message of {size} bytes to be whole within {allowed:?} \
             (`Settings::message_timeout` and `Settings::message_rate_min`), and {come} bytes have come"
        ))
    }
}

/// How long a message of this size may take once it has begun.
fn time_for(size: usize, settings: &Settings) -> Duration {
    let rate = settings.message_rate_min.max(1) as f64;
    let transfer = Duration::try_from_secs_f64(size as f64 / rate).unwrap_or(Duration::MAX);
    settings.message_timeout.saturating_add(transfer)
}

fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_together_hold_no_more_than_the_limit_and_give_it_back() {
        let settings = Settings {
            input_memory_max: 100_000,
            message_size_max: 60_000,
            ..Settings::default()
        };
        let memory = Arc::<ByteAccount>::default();
        let new = || Unfinished::new(60_000, &settings, Some(memory.clone()));
        let mut first = new();
        first.hold(30_000, &settings).unwrap();
        first.hold(60_000, &settings).unwrap();
        let mut second = new();
        second.hold(1_000, &settings).unwrap();
        second.hold(40_000, &settings).unwrap();
        let mut third = new();
        let error = third.hold(20_000, &settings).unwrap_err().to_string();
        assert!(
            error.contains("120000") && error.contains("input_memory_max"),
            "{error}"
        );
        drop((first, second, third));
        assert_eq!(memory.add(0), 0);
    }

    #[test]
    fn a_message_has_the_time_of_the_least_rate_and_some_more() {
        let settings = Settings {
            message_timeout: Duration::from_secs(2),
            message_rate_min: 1_000,
            ..Settings::default()
        };
        assert_eq!(time_for(3_000, &settings), Duration::from_secs(5));
        let settings = Settings {
            message_timeout: Duration::MAX,
            ..settings
        };
        assert_eq!(time_for(3_000, &settings), Duration::MAX);
    }
}
