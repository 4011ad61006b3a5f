//! Detects other work of the machine: programs that ran before a round, and the hypervisor during it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

/// The disturbances of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Disturbance {
    /// How many cores were busy in the moment before the round, when no contender ran.
    pub(crate) busy_cores: f64,
    /// The share of the cores' time that the hypervisor gave to other machines during the round, from 0 to 1.
    pub(crate) steal: f64,
}

impl Disturbance {
    pub(crate) fn to_json(self) -> Value {
        json!({"busy_cores": self.busy_cores, "steal": self.steal})
    }

    /// Reads what [`Disturbance::to_json`] wrote.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        Some(Self {
            busy_cores: json.get("busy_cores")?.as_f64()?,
            steal: json.get("steal")?.as_f64()?,
        })
    }
}

/// Watches a round.
#[derive(Debug)]
pub(crate) struct Watch {
    busy_cores: f64,
    start: Option<CoreTimes>,
}

impl Watch {
    /// Watches the machine for a moment, in which nothing of ours may run, and from then on.
    pub(crate) fn start() -> Self {
        Self {
            busy_cores: busy_cores(ROUND_WATCH),
            start: CoreTimes::now(),
        }
    }

    /// Returns the disturbances of the round that ends now.
    pub(crate) fn end(self) -> Disturbance {
        let steal = self.start.zip(CoreTimes::now());
        Disturbance {
            busy_cores: self.busy_cores,
            steal: steal.map_or(0.0, |(start, end)| start.stolen_until(&end)),
        }
    }
}

/// How many cores are busy now. A load average would count the run before this one.
pub(crate) fn busy_cores(watch: Duration) -> f64 {
    let before = CoreTimes::now();
    std::thread::sleep(watch);
    let both = before.zip(CoreTimes::now());
    both.map_or(0.0, |(before, after)| before.busy_until(&after))
}

/// How long the machine is watched before a round.
const ROUND_WATCH: Duration = Duration::from_millis(100);

/// The time that the cores have spent since the machine started, in ticks of any length.
#[derive(Debug, Clone, Copy)]
struct CoreTimes {
    all: u64,
    idle: u64,
    stolen: u64,
    cores: u32,
}

impl CoreTimes {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// A line `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..`, then one for each core.
    fn parse(stat: &str) -> Option<Self> {
        let times = stat.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = times
            .split_whitespace()
            // What guests had is in the times of users already.
            .take(8)
            .map(|time| time.parse().ok())
            .collect::<Option<_>>()?;
        let cores = stat.lines().skip(1);
        let cores = cores.take_while(|line| line.starts_with("cpu")).count();
        Some(Self {
            all: times.iter().sum(),
            idle: times.get(3)? + times.get(4)?,
            // Old kernels do not count it.
            stolen: times.get(7).copied().unwrap_or(0),
            cores: cores.try_into().ok()?,
        })
    }

    /// Cores that were not idle on average until then.
    fn busy_until(&self, later: &Self) -> f64 {
        let all = later.all.saturating_sub(self.all);
        let idle = later.idle.saturating_sub(self.idle).min(all);
        share(all - idle, all) * f64::from(self.cores)
    }

    /// The share of the time until then that the hypervisor took.
    fn stolen_until(&self, later: &Self) -> f64 {
        let all = later.all.saturating_sub(self.all);
        share(later.stolen.saturating_sub(self.stolen).min(all), all)
    }
}

fn share(part: u64, all: u64) -> f64 {
    match all {
        0 => 0.0,
        _ => part as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(user: u64, idle: u64, stolen: u64) -> CoreTimes {
        let text = format!("cpu  {user} 0 0 {idle} 0 0 0 {stolen} 9 9\ncpu0 1\ncpu1 1\nintr 5\n");
        CoreTimes::parse(&text).unwrap()
    }

    #[test]
    fn busy_cores_are_those_that_were_not_idle_meanwhile() {
        assert_eq!(times(100, 100, 0).busy_until(&times(130, 110, 0)), 1.5);
        assert_eq!(times(100, 100, 0).busy_until(&times(100, 100, 0)), 0.0);
        assert!(CoreTimes::parse("cpu  1 x\n").is_none());
    }

    #[test]
    fn time_that_the_hypervisor_took_is_a_share_of_all() {
        assert_eq!(times(100, 100, 0).stolen_until(&times(120, 110, 10)), 0.25);
        assert_eq!(times(100, 100, 5).stolen_until(&times(100, 100, 5)), 0.0);
    }

    #[test]
    fn a_disturbance_survives_a_file() {
        let disturbance = Disturbance {
            busy_cores: 0.25,
            steal: 0.5,
        };
        let json = disturbance.to_json();
        assert_eq!(Disturbance::from_json(&json), Some(disturbance));
        assert_eq!(Disturbance::from_json(&json!({"steal": 1.0})), None);
    }
}
