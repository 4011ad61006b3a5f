//! Which contenders are ready on this machine, and installing those that are not.

use std::process::{Command, Stdio};

use crate::contender::{Contender, Peer};
use crate::error::LabError;
use crate::options::RunOptions;
use crate::scenario::{ScenarioInfo, scenarios};

/// The readiness of a contender: it can run on this machine, or something is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Readiness {
    /// The scenario.
    pub scenario: &'static str,
    /// The contender.
    pub contender: &'static str,
    /// The version of its middleware if that is installed, and else what is missing.
    pub version: Result<String, String>,
}

impl ScenarioInfo {
    /// Which contenders are installed. Whether their programs can be built is known when they are.
    pub fn readiness(&self) -> Vec<Readiness> {
        let contenders = self.contenders.iter();
        let readiness = contenders.map(|contender| Readiness {
            scenario: self.name,
            contender: contender.name,
            version: installed(contender),
        });
        readiness.collect()
    }
}

/// Installs what is missing, as Debian's packages, and builds the programs of all contenders; without `names` those of all.
/// It says meanwhile what it does.
///
/// A contender that fails is in the list, with the reason.
///
/// # Errors
/// [`LabError`]: a name that does not exist, or packages that cannot be installed here; the message says what to type.
pub fn setup(names: &[String], say: &mut dyn FnMut(&str)) -> Result<Vec<Readiness>, LabError> {
    let known = scenarios().iter().flat_map(ScenarioInfo::contender_names);
    if let Some(unknown) = names
        .iter()
        .find(|name| !known.clone().any(|other| other == **name))
    {
        return Err(LabError::unknown("contender", unknown, distinct(known)));
    }
    let is_meant =
        |contender: &Contender| names.is_empty() || names.iter().any(|name| name == contender.name);
    let all = scenarios().iter().flat_map(|scenario| {
        let contenders = scenario
            .contenders
            .iter()
            .map(move |contender| (scenario, *contender));
        contenders.filter(|(_, contender)| is_meant(contender))
    });
    let all: Vec<_> = all.collect();
    let missing = all
        .iter()
        .filter(|(_, contender)| installed(contender).is_err());
    let packages = missing.flat_map(|(_, contender)| contender.packages());
    let packages = distinct(packages);
    if !packages.is_empty() {
        install(&packages, say)?;
    }
    let own = RunOptions::default().program()?;
    let readiness = all.into_iter().map(|(scenario, contender)| {
        say(&format!(
            "building {} for {}",
            contender.name, scenario.name
        ));
        let ready = contender.prepare(scenario.name, &own);
        Readiness {
            scenario: scenario.name,
            contender: contender.name,
            version: ready.map(|ready| ready.version),
        }
    });
    Ok(readiness.collect())
}

/// The version of a contender's middleware, or what is missing.
fn installed(contender: &Contender) -> Result<String, String> {
    match contender.peer() {
        Some(peer) => peer.installed_version(),
        None => Ok(env!("CARGO_PKG_VERSION").to_owned()),
    }
}

impl Contender {
    /// Debian's packages that it needs.
    fn packages(&self) -> Vec<&'static str> {
        self.peer().map_or_else(Vec::new, Peer::packages)
    }
}

impl Peer {
    /// Debian's packages that it needs; what stands in brackets does not come from Debian.
    fn packages(&self) -> Vec<&'static str> {
        let words = self.install.split(" (").next().unwrap_or_default();
        words.split_whitespace().collect()
    }
}

fn install(packages: &[&str], say: &mut dyn FnMut(&str)) -> Result<(), LabError> {
    let by_hand = format!(
        "sudo apt-get update && sudo apt-get install {}",
        packages.join(" ")
    );
    let refused = |reason: &str| LabError::Unavailable {
        contender: "setup".to_owned(),
        reason: format!("{reason}; type: {by_hand}"),
    };
    let Some(prefix) = privilege() else {
        return Err(refused(
            "expected to be root, or sudo without a password, to install packages",
        ));
    };
    say(&format!("installing {}", packages.join(" ")));
    let update = ["apt-get", "update", "--quiet"];
    let install = [
        "apt-get",
        "install",
        "--yes",
        "--quiet",
        "--no-install-recommends",
    ];
    let is_done = succeeds(&[prefix, &update].concat())
        && succeeds(
            &[
                prefix,
                &["env", "DEBIAN_FRONTEND=noninteractive"],
                &install,
                packages,
            ]
            .concat(),
        );
    match is_done {
        true => Ok(()),
        false => Err(refused("apt-get did not install the packages")),
    }
}

/// The words to put before a command that needs root: nothing or `sudo`; `None` if it cannot be had without a prompt.
fn privilege() -> Option<&'static [&'static str]> {
    if rustix::process::getuid().is_root() {
        return Some(&[]);
    }
    succeeds(&["sudo", "-n", "true"]).then_some(&["sudo", "-n"])
}

/// Runs a command whose output goes to standard error, since standard output is for data.
fn succeeds(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(std::io::stderr());
    command.status().is_ok_and(|status| status.success())
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_package_of_debian_is_not_installed() {
        let packages = |scenario: &str, contender: &str| {
            let scenario = ScenarioInfo::named(scenario).unwrap();
            scenario.contender(contender).unwrap().packages()
        };
        assert_eq!(packages("rpc", "tonic"), ["protobuf-compiler"]);
        assert_eq!(packages("rpc", "zeromq"), ["libzmq3-dev", "g++"]);
        assert_eq!(packages("rpc", "floe"), [""; 0]);
    }

    #[test]
    fn contenders_of_this_program_are_always_ready() {
        let rpc = ScenarioInfo::named("rpc").unwrap();
        let readiness = rpc.readiness();
        let version = |name: &str| {
            let mut all = readiness.iter();
            all.find(|one| one.contender == name)
                .unwrap()
                .version
                .clone()
        };
        assert_eq!(version("floe"), Ok(env!("CARGO_PKG_VERSION").to_owned()));
        assert!(version("floor").is_ok());
        assert_eq!(readiness.len(), rpc.contenders.len());
    }

    #[test]
    fn setup_of_what_does_not_exist_is_refused() {
        let error = setup(&["flow".to_owned()], &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("did you mean floe?"), "{error}");
        let ready = setup(&["floor".to_owned()], &mut |_| ()).unwrap();
        assert!(ready.iter().all(|one| one.version.is_ok()));
    }
}
