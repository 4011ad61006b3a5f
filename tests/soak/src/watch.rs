//! Memory and descriptors of a member over time.

use std::time::{Duration, Instant};

use crate::process;

/// The warm-up, which is not judged, and is no less than a quarter of the run: connections are made, and the windows of
/// their compressed streams, 1 MiB for each direction, fill as messages pass.
const WARM_UP_MIN: Duration = Duration::from_secs(15);
/// Samples that say something, at least.
const SAMPLES_MIN: usize = 20;
/// A member grows by no more than this after the warm-up, in bytes. It is not less, because it goes up and down by as
/// much with the windows of the compressed streams that are open just then: of two runs of ten minutes one ended with
/// medians 7.1 MB (a server) and 3.4 MB (a client) above those of its first quarter, the other with 0.3 and 1.7 MB.
const RESIDENT_GROWTH_MAX: u64 = 10 << 20;
/// [`RESIDENT_GROWTH_MAX`] in a short run, in which the windows and the allocator's places for threads still fill: in a
/// minute 13 MB were seen, and 20 on a machine with much else to do; a run of five minutes then went from 52.4 to 52.9
/// MB.
const SHORT_GROWTH_MAX: u64 = 28 << 20;
/// A run is short if it is no longer than this.
const SHORT: Duration = Duration::from_secs(5 * 60);
/// The growth that is allowed in descriptors: connections come and go with the peers.
const DESCRIPTOR_GROWTH_MAX: usize = 24;

/// One look at a process.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    resident: u64,
    descriptors: usize,
}

/// All looks at a process.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    samples: Vec<Sample>,
}

/// A process after the warm-up, and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Course {
    is_short: bool,
    pub(crate) resident: [u64; 2],
    pub(crate) descriptors: [usize; 2],
}

impl Watch {
    pub(crate) fn sample(&mut self, id: u32, at: Instant) {
        if let (Some(resident), Some(descriptors)) =
            (process::resident(id), process::descriptors(id))
        {
            self.samples.push(Sample {
                at,
                resident,
                descriptors,
            });
        }
    }

    /// The medians of the first and the last quarter of what counts; `None` if that is too little.
    pub(crate) fn course(&self, began: Instant) -> Option<Course> {
        let last = self.samples.last()?;
        let warm = began + WARM_UP_MIN.max(last.at.saturating_duration_since(began) / 4);
        let counting: Vec<_> = self.samples.iter().filter(|s| s.at >= warm).collect();
        if counting.len() < SAMPLES_MIN {
            return None;
        }
        let quarter = counting.len() / 4;
        let ends = [&counting[..quarter], &counting[counting.len() - quarter..]];
        Some(Course {
            is_short: last.at.saturating_duration_since(began) <= SHORT,
            resident: ends.map(|end| median(end.iter().map(|s| s.resident))),
            descriptors: ends.map(|end| median(end.iter().map(|s| s.descriptors))),
        })
    }
}

impl Course {
    /// Describes what grew too much.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let [first, last] = self.resident;
        let limit = match self.is_short {
            true => SHORT_GROWTH_MAX,
            false => RESIDENT_GROWTH_MAX,
        };
        if last > first + limit {
            problems.push(format!(
                "its memory grew from {first} to {last} bytes, above {limit} more"
            ));
        }
        let [first, last] = self.descriptors;
        if last > first + DESCRIPTOR_GROWTH_MAX {
            problems.push(format!(
                "its descriptors grew from {first} to {last}, above {DESCRIPTOR_GROWTH_MAX} more"
            ));
        }
        problems
    }
}

fn median<T: Ord + Copy>(of: impl Iterator<Item = T>) -> T {
    let mut sorted: Vec<T> = of.collect();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(seconds: u64, resident: impl Fn(u64) -> u64) -> Course {
        let began = Instant::now();
        let samples = (0..seconds).map(|second| Sample {
            at: began + Duration::from_secs(second),
            resident: resident(second),
            descriptors: 20,
        });
        let watch = Watch {
            samples: samples.collect(),
        };
        watch.course(began).expect("enough of them")
    }

    #[test]
    fn growth_before_the_warm_up_is_none() {
        let warmed = course(60, |second| (second.min(14) + 10) << 20);
        assert!(warmed.problems().is_empty(), "{warmed:?}");
    }

    #[test]
    fn steady_growth_is_found() {
        let growing = course(60, |second| (10 + second) << 20);
        assert_eq!(growing.problems().len(), 1, "{growing:?}");
    }

    #[test]
    fn a_long_run_may_grow_by_less_than_a_short_one() {
        let short = course(60, |second| (10 << 20) + (second << 20) / 3);
        assert!(short.problems().is_empty(), "{short:?}");
        let long = course(600, |second| (10 << 20) + (second << 20) / 25);
        assert_eq!(long.problems().len(), 1, "{long:?}");
    }
}
