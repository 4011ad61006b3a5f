//! Stock programs of SOAP at a bridge: zeep for Python, and gSOAP for C++ with classes from the WSDL of the broker.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use floe_bridges::World;
use floe_bridges::settings::WorldSettings as _;
use floe_bridges::soap::Settings;
use floe_codegen::{WsdlOptions, generate_notification_wsdl};
use floe_tests::peer::Peer;
use floe_tests::{skip, workspace};

use crate::event;

/// A broker on a free port.
pub(crate) fn world() -> Box<dyn World> {
    world_at(([127, 0, 0, 1], 0).into())
}

/// A broker at an address.
pub(crate) fn world_at(listen: SocketAddr) -> Box<dyn World> {
    let settings = Settings {
        listen,
        ..Settings::default()
    };
    settings.world()
}

/// A program with zeep; `None` is a visible skip. The gate says by an empty name that PyPI is out of reach, which fails
/// nothing.
pub(crate) fn zeep(arguments: &[&str]) -> Option<Peer> {
    let Some(python) = env::var_os("FLOE_ZEEP_PYTHON") else {
        let reason = "FLOE_ZEEP_PYTHON names no Python: cargo xtask interop-zeep provides one";
        skip::report("zeep", reason);
        return None;
    };
    if python.is_empty() {
        return None;
    }
    let mut command = Command::new(python);
    Some(Peer::start(
        "zeep",
        command
            .arg(workspace::root().join("examples/worlds/soap.py"))
            .args(arguments),
    ))
}

/// A program with gSOAP, in SOAP 1.1; `None` is a visible skip.
pub(crate) fn gsoap(arguments: &[&str]) -> Option<Peer> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = BUILT.get_or_init(build_gsoap).as_ref()?;
    Some(Peer::start("gSOAP", Command::new(program).args(arguments)))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/bridges/peers/soap")
}

/// Generates classes from the WSDL, and compiles the peer with them.
fn build_gsoap() -> Option<PathBuf> {
    for (program, argument) in [("wsdl2h", "-V"), ("soapcpp2", "-V"), ("g++", "--version")] {
        if let Err(error) = Command::new(program).arg(argument).output() {
            skip::report("gSOAP", &format!("`{program}` cannot run: {error}"));
            return None;
        }
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bridges-gsoap");
    fs::create_dir_all(&built).expect("there is room");
    let contract = event::contract();
    let model = contract.model();
    let ticker = model.find("::Worlds::Ticker").expect("it is there");
    let options = WsdlOptions::new().address("http://127.0.0.1:8070");
    let wsdl = generate_notification_wsdl(model, &[ticker], &options);
    fs::write(built.join("broker.wsdl"), wsdl.expect("it has no class")).expect("there is room");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let output = command.current_dir(&built).args(arguments).output();
        let output = output.expect("it is installed");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    let header = ["-E", "-x", "c++", "-include", "stdsoap2.h", "/dev/null"];
    if !run("g++", &header).0 {
        skip::report(
            "gSOAP",
            "there is no stdsoap2.h, which Debian has in libgsoap-dev",
        );
        return None;
    }
    let peer = folder().join("peer.cpp");
    let peer = peer.to_str().expect("UTF-8");
    let imports = "-I/usr/share/gsoap/import";
    for (program, arguments) in [
        ("wsdl2h", &["-o", "broker.h", "broker.wsdl"][..]),
        ("soapcpp2", &["-j", "-x", "-d", ".", imports, "broker.h"]),
        (
            "g++",
            &[
                "-w",
                "-I.",
                "-o",
                "peer",
                peer,
                "soapC.cpp",
                "soapNotificationBrokerSoap11Proxy.cpp",
                "-lgsoap++",
            ],
        ),
    ] {
        let (succeeded, said) = run(program, arguments);
        assert!(succeeded, "{program}: {said}");
    }
    Some(built.join("peer"))
}

mod tests {
    use floe_tests::peer::Peer;

    use super::{gsoap, world, world_at, zeep};
    use crate::fixture::Joined;
    use crate::{event, ice};

    fn expect(subscriber: &mut Peer, sent: &[(&str, i64)]) {
        for (world, seed) in sent {
            let line = subscriber.line();
            assert_eq!(event::parse(&line), event::json(world, *seed));
        }
    }

    /// A subscriber of each kind gets the events of a publisher of each kind.
    #[test]
    fn zeep_and_ice_programs_get_the_events_of_one_another() {
        let joined = Joined::start(world());
        let address = joined.address();
        let subscribers = [
            &["subscribe", &address, "4"][..],
            &["--push", "--soap12", "subscribe", &address, "4"],
            &["--soap12", "subscribe", &address, "4"],
            &["--push", "subscribe", &address, "4"],
        ];
        let subscribers = subscribers.map(zeep);
        let Some(mut subscribers) = subscribers.into_iter().collect::<Option<Vec<_>>>() else {
            return;
        };
        let Some(ice_subscriber) = ice::peer(&["subscribe", &joined.manager(), "4"]) else {
            return;
        };
        subscribers.push(ice_subscriber);
        for subscriber in &mut subscribers {
            subscriber.ready();
        }
        let installed = "it is installed";
        let publisher = zeep(&["publish", &address, "soap", "1"]);
        publisher.expect(installed).succeed();
        let publisher = ice::peer(&["publish", &joined.manager(), "ice", "2"]);
        publisher.expect(installed).succeed();
        let publisher = zeep(&["--soap12", "publish", &address, "soap12", "3", "4"]);
        publisher.expect(installed).succeed();
        let sent = [("soap", 1), ("ice", 2), ("soap12", 3), ("soap12", 4)];
        for mut subscriber in subscribers {
            expect(&mut subscriber, &sent);
            subscriber.succeed();
        }
        // The two that events are pushed to may have unsubscribed before their last answer was read.
        let counts = joined.counts();
        assert_eq!(counts.taken_in, 3);
        assert!((14..=16).contains(&counts.sent_out), "{counts:?}");
        assert_eq!(counts.not_crossed, []);
    }

    #[test]
    fn gsoap_and_ice_programs_get_the_events_of_one_another() {
        let joined = Joined::start(world());
        let address = joined.address();
        let Some(subscriber) = gsoap(&["subscribe", &address, "3"]) else {
            return;
        };
        let Some(ice_subscriber) = ice::peer(&["subscribe", &joined.manager(), "3"]) else {
            return;
        };
        let mut subscribers = [subscriber, ice_subscriber];
        for subscriber in &mut subscribers {
            subscriber.ready();
        }
        let installed = "it is installed";
        let publisher = gsoap(&["publish", &address, "gsoap", "1", "2"]);
        publisher.expect(installed).succeed();
        let publisher = ice::peer(&["publish", &joined.manager(), "ice", "8"]);
        publisher.expect(installed).succeed();
        for mut subscriber in subscribers {
            expect(&mut subscriber, &[("gsoap", 1), ("gsoap", 2), ("ice", 8)]);
            subscriber.succeed();
        }
        assert_eq!(joined.counts().not_crossed, []);
    }

    #[test]
    fn the_conversation_goes_on_after_each_side_was_restarted() {
        let mut joined = Joined::start(world());
        let address = joined.address();
        let subscribe = || {
            let mut subscriber = zeep(&["subscribe", &address, "1"])?;
            subscriber.ready();
            Some(subscriber)
        };
        let publish = |seed: &str| {
            let publisher = zeep(&["publish", &address, "soap", seed]);
            publisher.expect("it is installed").succeed();
        };
        // The first subscriber is killed with what it was to get.
        let Some(killed) = subscribe() else {
            return;
        };
        publish("1");
        drop(killed);
        let mut subscriber = subscribe().expect("it is installed");
        publish("2");
        expect(&mut subscriber, &[("soap", 2)]);
        subscriber.succeed();
        joined.end_bridge();
        joined.start_bridge(world_at(address.parse().expect("an address")));
        let mut subscriber = subscribe().expect("it is installed");
        publish("3");
        expect(&mut subscriber, &[("soap", 3)]);
        subscriber.succeed();
    }
}
