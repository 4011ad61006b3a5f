//! Where things are: the root of the repository and the folders that tasks write to.

use std::env;
use std::path::PathBuf;

/// The root of the repository: the parent of this crate's folder.
///
/// Cargo says at run time where that is; what the compiler knew is wrong in a checkout that was moved.
pub(crate) fn root() -> PathBuf {
    let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    folder
        .parent()
        .expect("xtask lies one folder below the root")
        .to_owned()
}

/// Cargo's target folder, honouring `CARGO_TARGET_DIR`.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A folder of this user that survives `cargo clean`, for tools that take minutes to build.
pub(crate) fn cache_dir() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home);
    base.map_or_else(|| target_dir().join("cache"), |base| base.join("floe"))
}
