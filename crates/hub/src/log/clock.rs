//! The time of events: that of the system's clock, unless that has just jumped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::core::log::{ClockNotice, ClockReading, EventTime, SteadyClock};
use crate::lock::Mutex;

/// One for all logs, so that a jump is logged once.
static CLOCK: Mutex<Option<SteadyClock>> = Mutex::new(None);

impl EventTime {
    /// The time of the system's clock. If that jumps, the time goes on as before, and follows it only once it has stayed
    /// where it is for ten minutes.
    pub fn now() -> Self {
        let reading = ClockReading {
            system: system_time(),
            up: up_time(),
        };
        let (now, notice) = CLOCK.lock().get_or_insert_default().now(reading);
        if let Some(notice) = notice {
            log(notice);
        }
        now
    }
}

/// The moment before which events are older than `age`. A jump of the clock makes no event older.
pub(super) fn oldest(now: EventTime, age: Duration) -> EventTime {
    match &*CLOCK.lock() {
        Some(clock) => clock.oldest(now, age),
        None => now.before(age),
    }
}

fn system_time() -> EventTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    EventTime(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The time since the computer started. After a computer has slept, its clock has not jumped.
#[cfg(target_os = "linux")]
fn up_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(now).unwrap_or_default()
}

/// The time since the first call. Some systems leave out the time in which the computer slept, which looks like a jump.
#[cfg(not(target_os = "linux"))]
fn up_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

fn log(notice: ClockNotice) {
    let shown = |micros: i64| {
        let length = Duration::from_micros(micros.unsigned_abs());
        let direction = match micros < 0 {
            true => "back",
            false => "ahead",
        };
        format!("{length:.0?} {direction}")
    };
    let patience = SteadyClock::PATIENCE;
    match notice {
        ClockNotice::Jumped(micros) => tracing::warn!(
            "the system's clock has jumped {}: events are dated as before; the clock is followed if it is still there after \
             {patience:?}",
            shown(micros)
        ),
        ClockNotice::CameBack => tracing::warn!("the system's clock is right again"),
        ClockNotice::Followed(micros) => tracing::warn!(
            "the system's clock has stayed {}: events are dated by it from now on, and no event counts as older for it",
            shown(micros)
        ),
    }
}
