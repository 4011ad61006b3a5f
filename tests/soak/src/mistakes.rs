//! Mistakes that a server makes on purpose, so that the audit can be seen to find each.

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;

/// A mistake that a server makes on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mistake {
    /// Now and then a call is executed twice.
    Double,
    /// Now and then a call is answered and not executed.
    Lose,
    /// Now and then a call is never answered.
    Hang,
    /// Now and then a call keeps some memory.
    Leak,
    /// Now and then a servant panics.
    Panic,
    /// Now and then a descriptor is left open.
    Descriptors,
}

impl Mistake {
    /// Of so many calls that could have it, one has it, unless each has.
    fn rarity(self) -> u64 {
        match self {
            // Of one kind of calls alone, half of which wait no longer than their limit.
            Self::Hang => 20,
            _ => 200,
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::Lose => "lose",
            Self::Hang => "hang",
            Self::Leak => "leak",
            Self::Panic => "panic",
            Self::Descriptors => "descriptors",
        }
    }
}

/// The mistakes of a server: none, or one kind of them.
#[derive(Debug)]
pub(crate) struct Mistakes {
    mistake: Option<Mistake>,
    /// Calls so far.
    count: AtomicU64,
    /// The leaked values.
    leaked: Mutex<Leaked>,
}

#[derive(Debug, Default)]
struct Leaked {
    memory: Vec<Vec<u8>>,
    /// When memory was leaked last.
    at: Option<Instant>,
    files: Vec<File>,
}

/// Bytes that a call leaks.
const LEAK_LEN: usize = 128 * 1024;
/// Between two calls that leak, at least: then the leak is as fast on a slow machine as on a fast one.
const LEAK_INTERVAL: Duration = Duration::from_millis(25);

impl Mistakes {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        Self {
            mistake,
            count: AtomicU64::new(0),
            leaked: Mutex::default(),
        }
    }

    /// Returns true if to make this one now; asked once for each call.
    pub(crate) fn is_due(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
            && (1 + self.count.fetch_add(1, Ordering::Relaxed)).is_multiple_of(mistake.rarity())
    }

    /// Makes those that need no help.
    pub(crate) fn make_others(&self) {
        let leaked = || self.leaked.lock().expect("no holder of this lock panics");
        if self.mistake == Some(Mistake::Leak) {
            let mut leaked = leaked();
            if leaked.at.is_none_or(|at| at.elapsed() >= LEAK_INTERVAL) {
                leaked.at = Some(Instant::now());
                leaked.memory.push(vec![1; LEAK_LEN]);
            }
        }
        if self.is_due(Mistake::Descriptors) {
            leaked().files.extend(File::open("/dev/null"));
        }
        assert!(!self.is_due(Mistake::Panic), "a mistake that was asked for");
    }
}
