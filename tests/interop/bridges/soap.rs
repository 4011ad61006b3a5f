//! Stock programs of SOAP at a bridge.

use std::env;
use std::path::Path;
use std::process::Command;

use floe_bridges::World;
use floe_bridges::settings::WorldSettings as _;
use floe_bridges::soap::Settings;
use floe_tests::peer::Peer;
use floe_tests::skip;

/// A broker on a free port.
pub(crate) fn world() -> Box<dyn World> {
    let settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/bridges/peers/soap/peer.py");
    let mut command = Command::new(python);
    Some(Peer::start("zeep", command.arg(script).args(arguments)))
}

mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use floe_bridges::core::account::Counts;
    use floe_tests::peer::PATIENCE;

    use super::{world, zeep};
    use crate::fixture::Joined;
    use crate::{event, ice};

    /// The counts once so many events are out: one that is pushed counts when its answer has come back.
    fn counts_when(joined: &Joined, sent_out: u64) -> Counts {
        let begun = Instant::now();
        loop {
            let counts = joined.counts();
            if counts.sent_out >= sent_out || begun.elapsed() > PATIENCE {
                return counts;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Events cross in both directions: a subscriber of each kind gets those of a publisher of each kind.
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
            for (world, seed) in sent {
                assert_eq!(event::parse(&subscriber.line()), event::json(world, seed));
            }
            subscriber.succeed();
        }
        let counts = counts_when(&joined, 16);
        assert_eq!((counts.taken_in, counts.sent_out), (3, 16));
        assert_eq!(counts.not_crossed, []);
    }
}
