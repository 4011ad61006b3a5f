//! Raises the limit of open descriptors: each connection takes one, and most subscribers have two connections.

/// Raises the limit to what an unprivileged process may have at most. Shells and service managers start programs with 1,024,
/// for the sake of those that use `select`; a hub does not.
#[cfg(unix)]
pub(crate) fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let before = shown(limit.current);
    limit.current = limit.maximum;
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => tracing::info!(
            "raised the limit of open files from {before} to {}",
            shown(limit.current)
        ),
        Err(error) => tracing::warn!("the limit of open files stays {before}: {error}"),
    }
}

/// Elsewhere there is no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_limit() {}

/// Descriptors that this process has open, and may have; none where the system does not tell, or not at once.
pub(crate) fn count() -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Some((open_count()?, max))
    }
    #[cfg(not(unix))]
    None
}

/// Events wait meanwhile: tens of thousands of descriptors are not counted one by one.
#[cfg(unix)]
fn open_count() -> Option<u64> {
    const FOLDER: &str = "/proc/self/fd";
    let len = std::fs::metadata(FOLDER).ok()?.len();
    if len > 0 {
        // Linux tells since 6.2.
        return Some(len);
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let room = status
        .lines()
        .find_map(|line| line.strip_prefix("FDSize:"))?;
    let is_short = room.trim().parse::<u64>().ok()? <= COUNTED_MAX;
    // One of them is that of the folder.
    let counted = || Some(std::fs::read_dir(FOLDER).ok()?.count() as u64 - 1);
    is_short.then(counted).flatten()
}

/// How many descriptors are counted one by one: a microsecond each.
#[cfg(unix)]
const COUNTED_MAX: u64 = 4096;

#[cfg(unix)]
fn shown(limit: Option<u64>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}
