//! The file of settings, for its tables `[contracts]` and `[bridge]`.

use std::path::{Path, PathBuf};

use clap::Args;
use floe::regular_file;
use floe_bridges::settings::{PlannedBridge, Settings};

use crate::exit::Failure;

/// The file of settings.
#[derive(Debug, Args)]
pub(super) struct FileArgument {
    /// The floe.toml with the tables [contracts] and [bridge]; others are left alone
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Bytes of a file of settings; the server takes as many.
const LEN_MAX: usize = 16 << 20;

impl FileArgument {
    /// The bridges of the file, with their contracts compiled.
    pub(super) fn load(&self) -> Result<Vec<PlannedBridge>, Failure> {
        let shown = self.config.display();
        let bytes = regular_file::read(&self.config, LEN_MAX)
            .map_err(|error| Failure::usage(format_args!("cannot read \"{shown}\": {error}")))?;
        let text = str::from_utf8(regular_file::without_mark(&bytes))
            .map_err(|error| Failure::usage(format_args!("\"{shown}\" is not UTF-8: {error}")))?;
        let folder = self.config.parent().unwrap_or(Path::new("."));
        let planned = Settings::parse(text).and_then(|settings| settings.plan(folder));
        let planned =
            planned.map_err(|error| Failure::usage(format_args!("\"{shown}\": {error}")))?;
        if planned.is_empty() {
            let failure = Failure::usage(format_args!("\"{shown}\" has no table [bridge.WORLD]"));
            return Err(failure.help("the guide `bridges.md` has one for each world"));
        }
        Ok(planned)
    }
}
