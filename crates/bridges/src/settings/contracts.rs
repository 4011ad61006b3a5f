//! The Slice files of bridges: `[contracts]`.

use std::fmt;
use std::path::{Path, PathBuf};

use floe_codegen::compile_files;
use floe_dynamic::Contract;
use floe_slice::{Language, Options};
use serde::Deserialize;

use super::value;

/// The Slice files that bridges take their contracts from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContractsSettings {
    /// The files; relative ones start at the folder of the `floe.toml`.
    #[serde(default, deserialize_with = "value::paths")]
    pub files: Vec<PathBuf>,
    /// Folders to search for included files.
    #[serde(default, deserialize_with = "value::paths")]
    pub include_dirs: Vec<PathBuf>,
}

/// Slice files that are no contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractsError {
    message: String,
}

impl ContractsSettings {
    /// Compiles the files.
    ///
    /// # Errors
    /// [`ContractsError`]: a file cannot be read, or has errors.
    pub fn load(&self, folder: &Path) -> Result<Contract, ContractsError> {
        let options = Options {
            include_dirs: self
                .include_dirs
                .iter()
                .map(|dir| folder.join(dir))
                .collect(),
            language: Language::Any,
            ..Options::default()
        };
        let files: Vec<PathBuf> = self.files.iter().map(|file| folder.join(file)).collect();
        let compilation = compile_files(&options, &files);
        if compilation.has_errors() {
            let errors = compilation.diagnostics.iter().filter(|it| it.is_error());
            let texts: Vec<String> = errors.map(|it| it.render(&compilation.sources)).collect();
            return Err(ContractsError {
                message: texts.join("\n"),
            });
        }
        Ok(Contract::new(compilation.model))
    }
}

impl fmt::Display for ContractsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the Slice files of [contracts] have errors:\n{}",
            self.message.trim_end()
        )
    }
}

impl std::error::Error for ContractsError {}
