//! How many descriptors the process may have: each connection takes one, and most subscribers have two connections.

/// Raises the limit to what an unprivileged process may have at most. Shells and service managers start programs with 1,024,
/// for the sake of those that use `select`; a hub does not.
#[cfg(unix)]
pub(super) fn raise_limit() {
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
pub(super) fn raise_limit() {}

/// Descriptors that this process has open, and may have; none where the system does not tell.
pub(super) fn count() -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        // One of them is that of this folder.
        let open = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64 - 1;
        let max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Some((open, max))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(unix)]
fn shown(limit: Option<u64>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}
