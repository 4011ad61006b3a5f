//! The work of a publisher: it probes until all are heard, publishes for the time of a round, and then says that it ends.

use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::case::{Case, INTERVAL, Work};
use super::number::{Number, now};
use crate::contender::{Failure, announce};
use crate::measure::Effort;

/// Publishes all events of a publisher through `publish`, which gets those of a batch, or one where events are
/// acknowledged; it returns when the service has acknowledged it, or has taken the batch.
///
/// # Errors
/// What `publish` fails with, and a lab that is gone.
pub(crate) fn publish_all(
    case: Case,
    effort: Effort,
    index: usize,
    publish: impl FnMut(&[i64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let lines = lines_of_stdin();
    let mut publisher = Publisher {
        publish,
        index,
        count: 0,
    };
    loop {
        publisher.say(Number::Probe)?;
        match lines.recv_timeout(PROBE_INTERVAL) {
            Ok(()) => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("the lab is gone".into()),
        }
    }
    publisher.work(case, Instant::now() + effort.warm_up())?;
    publisher.say(Number::Mark(publisher.count))?;
    publisher.work(case, Instant::now() + effort.round_time)?;
    publisher.say(Number::End(publisher.count))?;
    announce(&format!("{{\"published\": {}}}", publisher.count))?;
    // The lab ends its processes when all are done.
    let _ = lines.recv();
    Ok(())
}

struct Publisher<P> {
    publish: P,
    index: usize,
    /// Ticks.
    count: u64,
}

impl<P: FnMut(&[i64]) -> Result<(), Failure>> Publisher<P> {
    fn say(&mut self, number: Number) -> Result<(), Failure> {
        (self.publish)(&[number.encode(self.index)])
    }

    fn work(&mut self, case: Case, until: Instant) -> Result<(), Failure> {
        match case.work {
            Work::Latency => self.publish_at_intervals(until),
            Work::Load => self.publish_times(until),
            Work::Twoway | Work::Batched => self.publish_batches(case.batch_len, until),
        }
    }

    /// At regular times, also after one that came late; one at least, here and below.
    fn publish_at_intervals(&mut self, until: Instant) -> Result<(), Failure> {
        let mut due = Instant::now() + INTERVAL / 2;
        loop {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.say(Number::Tick(now()))?;
            self.count += 1;
            due += INTERVAL;
            if due >= until {
                return Ok(());
            }
        }
    }

    fn publish_times(&mut self, until: Instant) -> Result<(), Failure> {
        loop {
            self.say(Number::Tick(now()))?;
            self.count += 1;
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn publish_batches(&mut self, len: usize, until: Instant) -> Result<(), Failure> {
        let mut batch = vec![0; len];
        loop {
            for number in &mut batch {
                *number = Number::Tick(self.count).encode(self.index);
                self.count += 1;
            }
            (self.publish)(&batch)?;
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }
}

/// Gives each line of stdin, and is closed with it.
fn lines_of_stdin() -> Receiver<()> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut line = String::new();
        while matches!(stdin.read_line(&mut line), Ok(1..)) {
            if sender.send(()).is_err() {
                return;
            }
        }
        drop(sender);
        // A publisher that waits for its service would not notice.
        std::thread::sleep(END_LIMIT);
        std::process::exit(1);
    });
    lines
}

/// Between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(5);

/// How long a publisher may go on when the lab is gone.
const END_LIMIT: Duration = Duration::from_millis(100);
