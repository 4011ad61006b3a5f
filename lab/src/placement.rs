//! Chooses the cores that the processes of a contender run on.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where servers and clients run.
///
/// It decides more than anything else: on one core, a call needs no wake-up of another core, which
/// costs more than all the rest. Left alone, the kernel decides it anew for each process, by what
/// else is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Placement {
    /// Clients on one half of the cores and servers on the other, so that all contenders in all
    /// rounds pay for the same wake-ups.
    #[default]
    Apart,
    /// Both on the first core: what is left is the work itself.
    Together,
    /// Wherever the kernel puts them.
    Free,
}

impl Placement {
    /// That of this word.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Apart, Self::Together, Self::Free];
        all.into_iter().find(|one| one.name() == name)
    }

    /// Its word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apart => "apart",
            Self::Together => "together",
            Self::Free => "free",
        }
    }
}

/// The cores of the two roles; `None` for wherever the kernel puts them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) server: Option<CpuSet>,
    pub(crate) client: Option<CpuSet>,
}

impl Cores {
    /// Those of this process, divided. One core alone cannot be divided.
    pub(crate) fn new(placement: Placement) -> io::Result<Self> {
        let own = sched_getaffinity(None)?;
        let cores: Vec<_> = (0..CpuSet::MAX_CPU)
            .filter(|core| own.is_set(*core))
            .collect();
        let (client, server) = divided(&cores, placement);
        Ok(Self {
            server: set_of(server),
            client: set_of(client),
        })
    }
}

/// The cores of clients and of servers; none where all will do.
fn divided(cores: &[usize], placement: Placement) -> (&[usize], &[usize]) {
    match placement {
        Placement::Apart if cores.len() >= 2 => cores.split_at(cores.len() / 2),
        Placement::Together => {
            let first = cores.get(..1).unwrap_or_default();
            (first, first)
        }
        Placement::Apart | Placement::Free => (&[], &[]),
    }
}

fn set_of(cores: &[usize]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    (!cores.is_empty()).then_some(set)
}

/// Runs `start` on a thread that may only use these cores; a process inherits them from the thread
/// that starts it.
pub(crate) fn on_cores<T: Send>(
    cores: Option<&CpuSet>,
    start: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(cores) = cores else { return start() };
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            sched_setaffinity(None, cores)?;
            start()
        });
        started.join().expect("starting a process does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_halved_shared_or_left_alone() {
        let cores = [0, 2, 3];
        assert_eq!(divided(&cores, Placement::Apart), (&[0][..], &[2, 3][..]));
        assert_eq!(divided(&cores, Placement::Together), (&[0][..], &[0][..]));
        assert_eq!(divided(&cores, Placement::Free), (&[][..], &[][..]));
        assert_eq!(divided(&[5], Placement::Apart), (&[][..], &[][..]));
        assert_eq!(divided(&[], Placement::Together), (&[][..], &[][..]));
    }

    #[test]
    fn a_process_runs_on_the_cores_of_its_thread() {
        let first = Cores::new(Placement::Together).unwrap().client.unwrap();
        let output = on_cores(Some(&first), || {
            std::process::Command::new("grep")
                .args(["Cpus_allowed_list", "/proc/self/status"])
                .output()
        });
        let output = String::from_utf8(output.unwrap().stdout).unwrap();
        let core = output.split_whitespace().last().unwrap();
        assert!(first.is_set(core.parse().unwrap()), "{output}");
        assert_eq!(first.count(), 1);
    }
}
