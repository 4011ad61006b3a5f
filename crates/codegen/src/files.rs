//! Where contracts come from: the file system, and behind it the contracts that are built in.

use std::io;
use std::path::{Path, PathBuf};

use floe_slice::{Compilation, Loader, Options, compile};

/// The directory in which the built-in contracts appear; it exists in no file system.
pub const BUILT_IN_DIR: &str = "<built-in>";

/// Compiles files of the file system.
///
/// `#include <Ice/Identity.ice>` and the other files of [`built_in_files`] are found although
/// nothing is installed; a file of the same name in an include directory goes first.
pub fn compile_files(options: &Options, files: &[PathBuf]) -> Compilation {
    let mut options = options.clone();
    options.include_dirs.push(PathBuf::from(BUILT_IN_DIR));
    compile(&options, &FileSystem.or(BuiltIn), files)
}

/// The names of the built-in contracts, as `#include` takes them.
pub fn built_in_files() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Loads what is on disk.
#[derive(Debug, Clone, Copy)]
pub struct FileSystem;

impl Loader for FileSystem {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

/// Loads the built-in contracts, below [`BUILT_IN_DIR`].
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn;

impl Loader for BuiltIn {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inside = path.strip_prefix(BUILT_IN_DIR).ok();
        BUILT_IN
            .iter()
            .find(|(name, _)| inside == Some(Path::new(name)))
            .map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such built-in contract"))
    }
}

macro_rules! contracts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../contracts/", $name)))),*]
    };
}

const BUILT_IN: &[(&str, &str)] = contracts![
    "Ice/BuiltinSequences.ice",
    "Ice/Context.ice",
    "Ice/Identity.ice",
    "Ice/Locator.ice",
    "Ice/Metrics.ice",
    "Ice/OperationMode.ice",
    "Ice/Process.ice",
    "Ice/SliceChecksumDict.ice",
    "Ice/Version.ice",
    "IceStorm/IceStorm.ice",
    "IceStorm/Internal.ice",
    "IceStorm/Metrics.ice",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_contract_compiles_without_a_finding() {
        for name in built_in_files() {
            let file = Path::new(BUILT_IN_DIR).join(name);
            let compilation = compile_files(&Options::default(), &[file]);
            assert_eq!(compilation.render(), "", "{name}");
            assert!(!compilation.model.definitions.is_empty(), "{name}");
        }
    }

    #[test]
    fn the_built_in_directory_is_not_looked_for_elsewhere() {
        let error = BuiltIn.load(Path::new("Ice/Identity.ice")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
