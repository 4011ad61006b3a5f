//! Programs that tasks use, most of them cargo extensions, installed once into a cache folder of this user.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, command, succeeds, succeeds_silently};
use crate::workspace;

/// A program, at the version that was tried with the toolchain of this repository.
pub(crate) struct Tool {
    /// The package, which is also the name of its program.
    pub(crate) package: &'static str,
    /// The version that is installed when none is there.
    pub(crate) version: &'static str,
    /// Further options of `cargo install`.
    pub(crate) options: &'static [&'static str],
}

/// Checks licences, sources and advisories of the dependencies.
pub(crate) const CARGO_DENY: Tool = Tool {
    package: "cargo-deny",
    version: "0.20.2",
    options: &[],
};

/// Makes the Debian package.
pub(crate) const CARGO_DEB: Tool = Tool {
    package: "cargo-deb",
    version: "3.8.0",
    options: &[],
};

/// Writes a bill of materials.
pub(crate) const CARGO_CYCLONEDX: Tool = Tool {
    package: "cargo-cyclonedx",
    version: "0.5.9",
    options: &[],
};

/// Compares the public interface of a crate with an earlier one.
pub(crate) const CARGO_SEMVER_CHECKS: Tool = Tool {
    package: "cargo-semver-checks",
    version: "0.51.0",
    options: &[],
};

/// Builds and runs the targets in `fuzz/`.
pub(crate) const CARGO_FUZZ: Tool = Tool {
    package: "cargo-fuzz",
    version: "0.13.2",
    options: &[],
};

/// Makes the book of the guides. Its default features watch files, serve pages and search.
pub(crate) const MDBOOK: Tool = Tool {
    package: "mdbook",
    version: "0.5.4",
    options: &["--no-default-features", "--features", "search"],
};

impl Tool {
    /// A `cargo <extension> <arguments>` command, or one of the program itself, after installing the tool if it is missing.
    ///
    /// Any version that the developer has installed is taken. `None` if it is missing and cannot be installed.
    pub(crate) fn command(&self, arguments: &[&str]) -> Option<Command> {
        if !self.is_there() && !self.install() {
            eprintln!(
                "error: {0} is missing; type: cargo install --locked {0}",
                self.package
            );
            return None;
        }
        let mut command = self.program();
        command.args(arguments);
        Some(command)
    }

    fn is_there(&self) -> bool {
        succeeds_silently(self.program().arg("--version"))
    }

    /// Compiles it without optimisation and debug information: a minute of two cores instead of several, for a tool that runs
    /// for seconds.
    fn install(&self) -> bool {
        let root = tools_dir().display().to_string();
        let words = [
            "install",
            "--locked",
            "--debug",
            "--root",
            &root,
            "--version",
            self.version,
            self.package,
        ];
        let mut install = cargo(&words);
        succeeds(
            install
                .args(self.options)
                .env("CARGO_PROFILE_DEV_DEBUG", "0"),
        )
    }

    /// `cargo-deny` is run as `cargo deny`, `mdbook` as itself.
    fn program(&self) -> Command {
        let program = match self.package.strip_prefix("cargo-") {
            Some(extension) => cargo(&[extension]),
            None => command(self.package, &[]),
        };
        self.with_path(program)
    }

    fn with_path(&self, mut command: Command) -> Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain([tools_dir().join("bin")]);
        let joined = env::join_paths(folders).expect("folders of PATH hold no separator");
        command.env("PATH", joined);
        command
    }
}

fn tools_dir() -> PathBuf {
    workspace::cache_dir().join("tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_installed_by_a_version_that_cargo_takes() {
        for tool in [
            CARGO_DENY,
            CARGO_DEB,
            CARGO_CYCLONEDX,
            CARGO_SEMVER_CHECKS,
            CARGO_FUZZ,
            MDBOOK,
        ] {
            let numbers: Vec<&str> = tool.version.split('.').collect();
            let are_numbers = numbers.iter().all(|number| number.parse::<u32>().is_ok());
            assert!(numbers.len() == 3 && are_numbers, "{}", tool.version);
        }
    }
}
