//! Keeps cores awake, so that what is measured is the software and not how long a sleeping processor takes to wake up.

use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::error::LabError;
use crate::options::RunOptions;
use crate::process::Process;

/// A process for each core that spins whenever nobody else has something to do there. Dropping them ends them.
#[derive(Debug)]
pub(crate) struct Spinners {
    _processes: Vec<Process>,
}

impl Spinners {
    /// # Errors
    /// [`LabError`]: there is no `chrt`, which gives a process idle priority.
    pub(crate) fn start(options: &RunOptions) -> Result<Self, LabError> {
        let program = options.program()?;
        let own = sched_getaffinity(None).map_err(|source| {
            LabError::system("find out the cores of this process", source.into())
        })?;
        let cores = (0..CpuSet::MAX_CPU).filter(|core| own.is_set(*core));
        let processes = cores.map(|core| {
            let mut command = Command::new("chrt");
            command
                .args(["--idle", "0"])
                .arg(&program)
                .args(["lab", "contender", "awake"]);
            let mut only = CpuSet::new();
            only.set(core);
            Process::start("awake", "spinner", command, Some(&only), &options.stop)
        });
        Ok(Self {
            _processes: processes.collect::<Result<_, _>>()?,
        })
    }
}

/// Keeps a core busy until the process is killed.
pub(crate) fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}
