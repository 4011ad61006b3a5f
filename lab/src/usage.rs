//! The processor time and memory of a process, from the kernel.

use std::io;
use std::time::Duration;

/// The resources that a process has used since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Time of the processor, of all threads, its own and the kernel's for it; in ticks of the kernel, of mostly
    /// 10 ms.
    pub(crate) cpu: Duration,
    /// Bytes of memory that are resident now.
    pub(crate) resident: u64,
}

impl Usage {
    /// That of a running process.
    ///
    /// # Errors
    /// There is no such process, or the kernel's answer cannot be read.
    pub(crate) fn of(pid: u64) -> io::Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let ticks = rustix::param::clock_ticks_per_second();
        let page = rustix::param::page_size() as u64;
        Self::parse(&stat, ticks, page).ok_or_else(|| {
            let reason = format!("expected a line of 52 fields in /proc/{pid}/stat, got {stat}");
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })
    }

    /// Source: proc_pid_stat(5): utime and stime are fields 14 and 15, rss is field 24.
    fn parse(stat: &str, ticks_per_second: u64, page: u64) -> Option<Self> {
        // The second field is a name in brackets, with whatever in it.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let ticks = field(14)? + field(15)?;
        Some(Self {
            cpu: Duration::from_secs_f64(ticks as f64 / ticks_per_second as f64),
            resident: field(24)? * page,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_are_found_behind_any_name() {
        let stat = "7 (a) 1 (b) S 1 2 3 4 5 6 7 8 9 10 250 50 11 12 13 14 15 16 17 18 100 19";
        let usage = Usage::parse(stat, 100, 4096).unwrap();
        assert_eq!(usage.cpu, Duration::from_secs(3));
        assert_eq!(usage.resident, 409_600);
        assert_eq!(Usage::parse("7 (a) S 1", 100, 4096), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let usage = Usage::of(std::process::id().into()).unwrap();
        assert!(usage.resident > 100_000);
    }
}
