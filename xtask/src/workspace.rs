//! Where things are: the root of the repository and the folders that tasks write to.

use std::env;
use std::fs;
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

/// The manifests whose dependencies have lock files of their own: the workspace's, and those of the lab's contenders,
/// which are packages by themselves.
pub(crate) fn manifests() -> Vec<PathBuf> {
    let contenders = fs::read_dir(root().join("lab/contenders"));
    let folders = contenders.into_iter().flatten().flatten();
    let manifests = folders.map(|folder| folder.path().join("Cargo.toml"));
    let mut manifests: Vec<_> = manifests.filter(|manifest| manifest.is_file()).collect();
    manifests.sort();
    manifests.insert(0, root().join("Cargo.toml"));
    manifests
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_contenders_are_among_the_manifests() {
        let manifests = manifests();
        let has = |end: &str| manifests.iter().any(|manifest| manifest.ends_with(end));
        assert!(has("lab/contenders/tonic/Cargo.toml"), "{manifests:?}");
        assert!(
            manifests
                .iter()
                .all(|manifest| { manifest.with_file_name("Cargo.lock").is_file() })
        );
    }
}
