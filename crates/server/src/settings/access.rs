//! The table `[access]` of `floe.toml`, and the files that it names.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

use floe::regular_file;
use floe_access::{Access, Problems, Settings};

use super::Configuration;
use super::entry::Problem;
use crate::notice::warn_of_readers;

/// Reads the rules of access in the text. Returns the problems of it and of the files that it names.
pub(super) fn read(text: &str, configuration: &mut Configuration) -> Vec<Problem> {
    let loaded = Settings::parse(text).and_then(|settings| {
        let access = Access::load(&settings, &read_file)?;
        Ok((access, settings.audit))
    });
    match loaded {
        Ok((access, audit)) => {
            let left_out = access.problems().iter();
            let left_out =
                left_out.map(|problem| Problem::new(problem.line, problem.message.clone()));
            configuration.warnings.extend(left_out);
            configuration.hub.access = access.into();
            configuration.hub.audit = audit;
            Vec::new()
        }
        Err(Problems(problems)) => {
            let of_file =
                |problem: floe_access::Problem| Problem::new(problem.line, problem.message);
            problems.into_iter().map(of_file).collect()
        }
    }
}

/// At most so many bytes of a file.
fn read_file(path: &Path, len_max: usize) -> Result<Vec<u8>, String> {
    let read = || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(len_max).unwrap_or(u64::MAX);
        let file = regular_file::open(path, OpenOptions::new().read(true))?;
        let is_public = |bytes: &[u8]| bytes.starts_with(b"-----BEGIN PUBLIC KEY");
        let is_for_others = regular_file::is_for_others(&file.metadata()?);
        file.take(limit).read_to_end(&mut bytes)?;
        if is_for_others && !is_public(&bytes) {
            warn_of_readers(path);
        }
        Ok(bytes)
    };
    read().map_err(|error: std::io::Error| format!("cannot read it: {error}"))
}
