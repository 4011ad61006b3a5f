//! Contenders: the programs of Floe and of its peers that a scenario measures.
//!
//! - `calls/`, `codec/`, `durable/`, `events/`, `fanout/`, `gateway/`, `slow/`, `topics/`: the contenders of the scenarios, a file each
//! - `router.rs`: the routers that clients call through
//! - `java.rs`, `peer.rs`, `program.rs`: how to build those that are not this very program
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] server CASE                   prints one line: where it is reached; lives until its stdin ends
//! PROGRAM [..] client CASE MILLIS ADDRESS    warms up a quarter of MILLIS, measures MILLIS, prints one line
//! PROGRAM [..] alone CASE MILLIS             the same, where there is nobody to call
//! ```
//!
//! The line of the last two is `{"calls": [[nanoseconds, count], ..]}`; where bytes are encoded it also
//! has `"encoded": {"len": bytes, "digest": text}`, see [`crate::sample::Encoded`]. Contenders of the scenarios
//! `events`, `pubsub-rtt`, `scale`, `qos`, `durable` and `gateway` have other roles, see the `mod.rs` of `events/`, `topics/`,
//! `fanout/`, `durable/` and `gateway/`. A client of the scenario `slow` pauses twice, see `slow/mod.rs`.

pub(crate) mod calls;
pub(crate) mod codec;
pub(crate) mod durable;
pub(crate) mod events;
pub(crate) mod fanout;
pub(crate) mod gateway;
mod java;
mod peer;
mod program;
mod router;
pub(crate) mod slow;
pub(crate) mod topics;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::LabError;
use crate::measure::Effort;
use crate::sample::Sample;
use crate::scenario::ScenarioInfo;
use durable::DurableContender;
use events::case::Case;
use events::{Clients, EventsContender, Service};
use fanout::FanoutContender;
use gateway::GatewayContender;
use slow::SlowContender;
use topics::TopicsContender;

pub(crate) use peer::Peer;
pub(crate) use program::{Built, CARGO_BUILD, Program, gxx};

/// Somebody that can be measured.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Why it does not offer a case; `None` if it does.
    pub(crate) refusal: fn(case: &str) -> Option<&'static str>,
    /// The name of the encoding that it makes, if that is to be compared: contenders with the same one
    /// must make the same bytes.
    pub(crate) encoding: Option<&'static str>,
    pub(crate) origin: Origin,
}

/// Where a contender's processes come from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// This very program, started again as a server and as a client.
    Pair {
        serve: fn(case: &str) -> Result<(), Failure>,
        call: fn(case: &str, address: &str, effort: Effort) -> Result<Sample, Failure>,
    },
    /// This very program, started again, with nobody to call.
    Alone(fn(case: &str, effort: Effort) -> Result<Sample, Failure>),
    /// This very program, started again, over a slow line.
    Slow(&'static SlowContender),
    /// A program that is built when it is first needed.
    Built(&'static Program),
    /// A service with publishers and subscribers.
    Events(&'static EventsContender),
    /// A service with a pinger and a replier.
    Topics(&'static TopicsContender),
    /// A service with all publishers and subscribers in one process.
    Fanout(&'static FanoutContender),
    /// A service that stores events, and a publisher.
    Durable(&'static DurableContender),
    /// A router with a back end, and a client.
    Gateway(&'static GatewayContender),
}

/// Returns true if a contender is Floe, in whatever manner it is used.
pub(crate) fn is_floe(contender: &str) -> bool {
    contender == "floe" || contender.starts_with("floe-")
}

/// The types of the values, for the contenders that share a language for them.
const CODEC_ICE: (&str, &str) = ("Codec.ice", include_str!("../../contracts/Codec.ice"));
const CODEC_IDL: (&str, &str) = ("codec.idl", include_str!("../../contenders/codec.idl"));
const CODEC_PROTO: (&str, &str) = (
    "codec.proto",
    include_str!("../../contenders/protobuf/codec.proto"),
);
const CODEC_CAPNP: (&str, &str) = (
    "codec.capnp",
    include_str!("../../contenders/capnp/codec.capnp"),
);

/// The header that the contenders of Cyclone DDS share.
const CYCLONEDDS_DOMAIN_HPP: (&str, &str) = (
    "domain.hpp",
    include_str!("../../contenders/cyclonedds/domain.hpp"),
);

/// The header that the contenders of Fast DDS share.
const FASTDDS_DOMAIN_HPP: (&str, &str) = (
    "domain.hpp",
    include_str!("../../contenders/fastdds/domain.hpp"),
);

/// The error with which the roles of a contender fail.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A contender of which it is known how to start it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) name: &'static str,
    pub(crate) refusal: fn(case: &str) -> Option<&'static str>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) version: String,
    /// True if it measures with code of ours, so that its failure is ours too.
    pub(crate) is_own: bool,
    launch: Launch,
    /// How the service between publishers and subscribers is started, if there is one.
    service: Option<Launch>,
}

/// How a process of a contender is started.
#[derive(Debug, Clone)]
struct Launch {
    program: PathBuf,
    leading_arguments: Vec<String>,
}

impl Launch {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading_arguments).args(arguments);
        command
    }
}

impl Contender {
    /// The program that is built for it; none if it is part of this one.
    pub(crate) fn program(&self) -> Option<&'static Program> {
        match &self.origin {
            Origin::Pair { .. } | Origin::Alone(_) | Origin::Slow(_) | Origin::Gateway(_) => None,
            Origin::Built(program) => Some(*program),
            Origin::Events(parts) => match parts.clients {
                Clients::Own(_) => None,
                Clients::Built(program) => Some(program),
            },
            Origin::Topics(parts) => match parts.clients {
                topics::Clients::Own { .. } => None,
                topics::Clients::Built(program) => Some(program),
            },
            Origin::Fanout(parts) => match parts.clients {
                fanout::Clients::Own(_) => None,
                fanout::Clients::Built(program) => Some(program),
            },
            Origin::Durable(parts) => match parts.publisher {
                durable::Publisher::Own(_) => None,
                durable::Publisher::Built(program) => Some(program),
            },
        }
    }

    /// The peer that must be installed; none if only this program is measured.
    pub(crate) fn peer(&self) -> Option<&'static Peer> {
        match &self.origin {
            Origin::Slow(parts) => parts.peer,
            Origin::Gateway(parts) => parts.peer,
            _ => self.program().map(|program| program.peer),
        }
    }

    /// The service between its clients, if it has one.
    fn service(&self) -> &Service {
        match &self.origin {
            Origin::Events(parts) => &parts.service,
            Origin::Topics(parts) => &parts.service,
            Origin::Fanout(parts) => &parts.service,
            Origin::Durable(parts) => &parts.service,
            Origin::Gateway(parts) => &parts.service,
            _ => &Service::Nobody,
        }
    }

    /// Builds what there is to build. `own` is the program that takes `lab contender`.
    ///
    /// # Errors
    /// Why it cannot run on this machine, and what to do about it.
    pub(crate) fn prepare(&self, scenario: &str, own: &Path) -> Result<Ready, String> {
        let own = Launch {
            program: own.to_owned(),
            leading_arguments: ["lab", "contender", scenario, self.name]
                .map(str::to_owned)
                .into(),
        };
        let program = self.program();
        let peer = self.peer();
        let (launch, version) = match (program, peer) {
            (Some(program), _) => built(program)?,
            (None, Some(peer)) => (own.clone(), peer.installed_version()?),
            (None, None) => (own.clone(), env!("CARGO_PKG_VERSION").to_owned()),
        };
        let is_own = peer.is_none();
        let service = match self.service() {
            Service::Own(_) => Some(own),
            Service::Built => Some(launch.clone()),
            Service::Nobody => None,
        };
        Ok(Ready {
            name: self.name,
            refusal: self.refusal,
            encoding: self.encoding,
            version,
            is_own,
            launch,
            service,
        })
    }
}

fn built(program: &Program) -> Result<(Launch, String), String> {
    let Built { program, version } = program.build()?;
    let launch = Launch {
        program,
        leading_arguments: Vec::new(),
    };
    Ok((launch, version))
}

impl Ready {
    /// One of somebody else that cannot be started.
    #[cfg(test)]
    pub(crate) fn for_tests(name: &'static str, encoding: Option<&'static str>) -> Self {
        Self {
            name,
            refusal: |_| None,
            encoding,
            version: String::new(),
            is_own: false,
            launch: Launch {
                program: PathBuf::new(),
                leading_arguments: Vec::new(),
            },
            service: None,
        }
    }

    /// One of somebody else whose processes are this script of a shell: `$1` is the role, `$2` the case, and so on.
    #[cfg(test)]
    pub(crate) fn of_script(name: &'static str, script: &str) -> Self {
        let launch = Launch {
            program: PathBuf::from("sh"),
            leading_arguments: ["-c", script, name].map(str::to_owned).into(),
        };
        Self {
            service: Some(launch.clone()),
            launch,
            ..Self::for_tests(name, None)
        }
    }

    pub(crate) fn server(&self, case: &str) -> Command {
        self.launch.command(&["server", case])
    }

    pub(crate) fn client(&self, case: &str, address: &str, effort: Effort) -> Command {
        self.launch
            .command(&["client", case, &effort.millis(), address])
    }

    pub(crate) fn alone(&self, case: &str, effort: Effort) -> Command {
        self.launch.command(&["alone", case, &effort.millis()])
    }

    /// The command for the service between publishers and subscribers; `None` if there is none.
    pub(crate) fn service(&self, case: &str) -> Option<Command> {
        let service = self.service.as_ref()?;
        Some(service.command(&["service", case]))
    }

    /// A publisher, a subscriber, a pinger or a replier: `role` says which.
    pub(crate) fn participant(
        &self,
        role: &str,
        case: &str,
        effort: Effort,
        address: &str,
        index: usize,
    ) -> Command {
        let (millis, index) = (effort.millis(), index.to_string());
        self.launch.command(&[role, case, &millis, address, &index])
    }
}

/// Runs one process of a contender: what follows `floe lab contender` on the command line. It blocks,
/// and must be called outside of any async runtime.
///
/// # Errors
/// [`LabError`] for wrong arguments, and for what the contender fails with.
pub fn contender_main(arguments: &[String]) -> Result<(), LabError> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments == ["awake"] {
        end_with_stdin();
        crate::awake::spin();
    }
    let [scenario, name, role, case, rest @ ..] = arguments.as_slice() else {
        return Err(usage(&arguments));
    };
    let contender = ScenarioInfo::named(scenario)?.contender(name)?;
    let result = match (&contender.origin, *role, rest) {
        (Origin::Pair { serve, .. }, "server", []) => {
            end_with_stdin();
            serve(case)
        }
        (Origin::Pair { call, .. }, "client", [millis, address]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            call(case, address, effort).and_then(|sample| announce(&sample.to_line()))
        }
        (Origin::Slow(parts), "server", []) => {
            end_with_stdin();
            parts.serve(case)
        }
        (Origin::Slow(parts), "client", [_millis, address]) => parts
            .call(case, address)
            .and_then(|sample| announce(&sample.to_line())),
        (Origin::Alone(work), "alone", [millis]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            work(case, effort).and_then(|sample| announce(&sample.to_line()))
        }
        (Origin::Events(parts), role, rest) => match (role, rest) {
            ("service", []) => parts.service.serve(case),
            (_, [millis, address, index]) => {
                let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
                let index = index.parse().map_err(|_| usage(&arguments))?;
                let role = parts.role(role).ok_or_else(|| usage(&arguments))?;
                Case::parse(case).and_then(|case| role(case, effort, address, index))
            }
            _ => return Err(usage(&arguments)),
        },
        (Origin::Fanout(parts), "service", []) => parts.service.serve(case),
        (Origin::Fanout(parts), "fanout", [millis, address, _index]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            let fanout::Clients::Own(role) = parts.clients else {
                return Err(usage(&arguments));
            };
            fanout::case::Case::parse(case).and_then(|case| role(case, effort, address))
        }
        (Origin::Topics(parts), "service", []) => parts.service.serve(case),
        (Origin::Topics(parts), role, [_millis, address, _index]) => {
            let role = parts.role(role).ok_or_else(|| usage(&arguments))?;
            topics::case::Case::parse(case).and_then(|case| role(case, address))
        }
        (Origin::Durable(parts), "service", []) => parts.service.serve(case),
        (Origin::Durable(parts), "publisher", [millis, address, _index]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            parts.publish(case, effort, address)
        }
        (Origin::Gateway(parts), "service", []) => parts.service.serve(case),
        (Origin::Gateway(parts), "client", [millis, address, _index]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            parts.call(case, effort, address)
        }
        _ => return Err(usage(&arguments)),
    };
    result.map_err(|error| LabError::contender(name, error))
}

fn usage(arguments: &[&str]) -> LabError {
    LabError::Unknown {
        kind: "contender's command line",
        name: arguments.join(" "),
        known: vec![
            "SCENARIO NAME server CASE".to_owned(),
            "SCENARIO NAME client CASE MILLIS ADDRESS".to_owned(),
            "SCENARIO NAME alone CASE MILLIS".to_owned(),
            "SCENARIO NAME service CASE".to_owned(),
            "SCENARIO NAME publisher CASE MILLIS ADDRESS INDEX".to_owned(),
            "SCENARIO NAME subscriber CASE MILLIS ADDRESS INDEX".to_owned(),
            "SCENARIO NAME pinger CASE MILLIS ADDRESS INDEX".to_owned(),
            "SCENARIO NAME replier CASE MILLIS ADDRESS INDEX".to_owned(),
            "SCENARIO NAME fanout CASE MILLIS ADDRESS INDEX".to_owned(),
        ],
        nearest: None,
    }
}

/// Prints the one line that the parent waits for.
fn announce(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()?;
    Ok(())
}

/// Ends this process when its stdin does: when the lab is done with it, or is gone.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut ignored = Vec::new();
        // A broken stdin is as good as an ended one.
        let _ = std::io::stdin().read_to_end(&mut ignored);
        std::process::exit(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_answered_with_the_right_ones() {
        let error = contender_main(&["floe".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("NAME server CASE"), "{error}");
        let unknown = ["rpc", "flow", "server", "twoway"].map(str::to_owned);
        let error = contender_main(&unknown).unwrap_err();
        assert!(error.to_string().contains("floor, floe"), "{error}");
        let role_of_another = ["codec", "floe", "server", "text/encode"].map(str::to_owned);
        let error = contender_main(&role_of_another).unwrap_err();
        assert!(error.to_string().contains("NAME alone CASE"), "{error}");
    }
}
