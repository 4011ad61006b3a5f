//! A process as the system sees it: its memory, its descriptors, and how to stop it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

/// Resident memory of a process, in bytes; `None` if it is gone.
pub(crate) fn resident(id: u32) -> Option<u64> {
    field(id, "VmRSS:")
}

/// Resident memory of a process that it wrote itself, in bytes; `None` if it is gone.
///
/// Code and constants are not in it. How much of those is resident depends on what the system reads along with a page.
pub(crate) fn written(id: u32) -> Option<u64> {
    field(id, "RssAnon:")
}

/// Lets the system forget the content of a program, so that the next process reads it from the disk, as after a restart.
///
/// How many pages around a touched one become resident depends on how the program came into memory: Linux maps up to the
/// whole piece of memory in which they lie. A program that was just written lies in larger pieces than one that was read.
///
/// # Errors
/// It cannot be opened or written to the disk.
pub(crate) fn forget_pages(program: &Path) -> io::Result<()> {
    let file = File::open(program)?;
    // Pages that are not on the disk yet are kept.
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Returns a field of `/proc/ID/status`, in bytes.
fn field(id: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(folder(id).join("status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Open descriptors of a process; `None` if it is gone.
pub(crate) fn descriptors(id: u32) -> Option<usize> {
    Some(fs::read_dir(folder(id).join("fd")).ok()?.count())
}

fn folder(id: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{id}"))
}

/// Sends a signal to a process that we started and have not waited for yet.
pub(crate) fn signal(id: u32, signal: Signal) -> io::Result<()> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    let id = id.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(id, signal)?)
}

/// Lets this process, and those that it starts from now on, open as many descriptors as they may.
/// Returns how many that are.
pub(crate) fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let held = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(_) => limit.current,
    };
    held.map_or(usize::MAX, |held| held.try_into().unwrap_or(usize::MAX))
}
