//! JMS programs (Qpid JMS) and Proton for Python, unmodified, at a bridge's broker.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use floe_bridges::World;
use floe_bridges::amqp::{AmqpWorld, Settings};
use floe_tests::peer::Peer;
use floe_tests::{skip, workspace};

use crate::fixture::topic;

/// The broker, on a free port.
pub(crate) fn world() -> Box<dyn World> {
    world_with(Settings {
        listen: "127.0.0.1:0".to_owned(),
        ..Settings::default()
    })
}

fn world_with(settings: Settings) -> Box<dyn World> {
    let settings = Settings {
        topics: vec![topic()],
        ..settings
    };
    Box::new(AmqpWorld::new(settings, ""))
}

/// Starts the JMS program with its arguments and more environment; `None` is a visible skip, because there is no Java or no
/// Qpid JMS.
pub(crate) fn jms(arguments: &[&str], environment: &[(&str, &str)]) -> Option<Peer> {
    java("Jms", arguments, environment)
}

fn java(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Option<Peer> {
    const PEER: &str = "qpid-jms";
    let Some(jars) = std::env::var_os("FLOE_QPID_JMS") else {
        let reason =
            "FLOE_QPID_JMS names no folder with its jars: cargo xtask interop-amqp provides one";
        skip::report(PEER, reason);
        return None;
    };
    // Maven's repository may be out of reach, which the gate says by an empty name, and which fails nothing.
    if jars.is_empty() {
        return None;
    }
    if !runs("javac", &["-version"]) {
        skip::report(PEER, "javac does not run");
        return None;
    }
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    let jars = Path::new(&jars).join("*");
    let classes = COMPILED.get_or_init(|| compile(&jars));
    let mut path = classes.clone().into_os_string();
    path.push(":");
    path.push(jars);
    let mut command = Command::new("java");
    command.arg("-Xmx256m").arg("-cp").arg(path);
    command.arg(program).args(arguments);
    command.envs(environment.iter().copied());
    Some(Peer::start("Qpid JMS", &mut command))
}

/// Compiles the Java programs, once for all tests: the folder of their classes.
fn compile(jars: &Path) -> PathBuf {
    let classes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bridges-amqp-classes");
    let mut javac = Command::new("javac");
    javac.arg("-cp").arg(jars).arg("-d").arg(&classes);
    javac.arg(workspace::root().join("examples/worlds/Jms.java"));
    javac.arg(source("Conversation.java"));
    Peer::start("javac", &mut javac).succeed();
    classes
}

/// As [`jms`], the program with Proton for Python.
pub(crate) fn proton(arguments: &[&str], environment: &[(&str, &str)]) -> Option<Peer> {
    // Debian's package belongs to Debian's Python.
    let mut pythons = ["/usr/bin/python3", "python3"].into_iter();
    let Some(python) = pythons.find(|python| runs(python, &["-c", "import proton"])) else {
        let reason = "Python cannot import proton: install python3-qpid-proton";
        skip::report("qpid-proton", reason);
        return None;
    };
    let mut command = Command::new(python);
    command.arg(source("proton_peer.py")).args(arguments);
    command.envs(environment.iter().copied());
    Some(Peer::start("Proton for Python", &mut command))
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("interop/bridges/peers/amqp")
        .join(name)
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::null());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use floe_bridges::amqp::Settings;
    use floe_bridges::core::account::Reason;
    use floe_tests::peer::{PATIENCE, Peer};

    use super::{java, jms, proton, world, world_with};
    use crate::fixture::{Joined, TOPIC};
    use crate::{event, ice};

    const NO_ENVIRONMENT: &[(&str, &str)] = &[];
    const MAPS: &[(&str, &str)] = &[("JMS_BODY", "map")];

    type Start = fn(&[&str], &[(&str, &str)]) -> Option<Peer>;

    fn assert_lines(subscriber: &mut Peer, expected: &[(&str, i64)]) {
        for (world, seed) in expected {
            assert_eq!(event::parse(&subscriber.line()), event::json(world, *seed));
        }
    }

    /// Waits until the hub has no subscriber left of this bridge, as a consumer that ends leaves none.
    fn eventually(expected: &str, holds: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < end, "expected {expected}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Each publishes, and each gets the events of all, in the types of messages that `settings` and `environment` ask for.
    fn all_get_the_events_of_all(settings: Settings, environment: &[(&str, &str)]) {
        let joined = Joined::start(world_with(settings));
        let (address, manager) = (joined.address(), joined.manager());
        let subscribe = ["subscribe", &address, "6"];
        let Some(mut jms_subscriber) = jms(&subscribe, environment) else {
            return;
        };
        let Some(mut proton_subscriber) = proton(&subscribe, environment) else {
            return;
        };
        let Some(mut ice_subscriber) = ice::peer(&["subscribe", &manager, "6"]) else {
            return;
        };
        jms_subscriber.ready();
        proton_subscriber.ready();
        ice_subscriber.ready();
        let there = "it was there before";
        ice::peer(&["publish", &manager, "ice", "1", "2"])
            .expect(there)
            .succeed();
        jms(&["publish", &address, "jms", "3", "4"], environment)
            .expect(there)
            .succeed();
        proton(&["publish", &address, "proton", "5", "6"], environment)
            .expect(there)
            .succeed();
        let expected = [
            ("ice", 1),
            ("ice", 2),
            ("jms", 3),
            ("jms", 4),
            ("proton", 5),
            ("proton", 6),
        ];
        for mut subscriber in [jms_subscriber, proton_subscriber, ice_subscriber] {
            assert_lines(&mut subscriber, &expected);
            subscriber.succeed();
        }
        eventually("all to be settled", || joined.counts().sent_out == 12);
        assert_eq!(joined.counts().taken_in, 4);
        assert_eq!(joined.counts().not_crossed, []);
        eventually("the programs to have left", || {
            joined.bridge().state().peer_count == 0
        });
    }

    fn on_a_free_port() -> Settings {
        Settings {
            listen: "127.0.0.1:0".to_owned(),
            ..Settings::default()
        }
    }

    #[test]
    fn jms_proton_and_ice_get_the_events_of_each_other_as_text() {
        all_get_the_events_of_all(on_a_free_port(), NO_ENVIRONMENT);
    }

    #[test]
    fn jms_proton_and_ice_get_the_events_of_each_other_as_maps() {
        let settings = Settings {
            maps: [TOPIC.to_owned()].into(),
            ..on_a_free_port()
        };
        all_get_the_events_of_all(settings, MAPS);
    }

    /// It has a password, too.
    #[test]
    fn a_jms_program_acknowledges_several_events_at_once() {
        let users = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bridges-amqp-users");
        std::fs::write(&users, USER).expect("there is room");
        let joined = Joined::start(world_with(Settings {
            passwords: Some(users),
            ..on_a_free_port()
        }));
        let address = joined.address();
        let (user, password) = (("JMS_USER", "ann"), ("JMS_PASSWORD", "tulip"));
        let wrong = [user, ("JMS_PASSWORD", "rose")];
        let subscribe = ["subscribe", &address, "4"];
        let Some(stranger) = jms(&subscribe, &wrong) else {
            return;
        };
        let ended = stranger.end();
        assert!(
            ended.errors.contains("failed to authenticate"),
            "{}",
            ended.errors
        );
        let environment = [user, password, ("JMS_ACK", "4")];
        let mut subscriber = jms(&subscribe, &environment).expect("it was there before");
        subscriber.ready();
        let publish = ["publish", &address, "jms", "1", "2", "3", "4"];
        let publisher = jms(&publish, &[user, password]);
        publisher.expect("it was there before").succeed();
        assert_lines(
            &mut subscriber,
            &[("jms", 1), ("jms", 2), ("jms", 3), ("jms", 4)],
        );
        subscriber.succeed();
        eventually("all to be settled", || joined.counts().sent_out == 4);
    }

    /// The password is tulip.
    const USER: &str = "ann $6$saltsalt$EqRs70RCD10BK2oIqHA.xIeGk/ty/WsNcWNXGTUkNL9KTTwipoiwJ.2dohpd9YDcKrq7S6hUZDv9tEw6vs/7B/";

    #[test]
    fn a_jms_program_does_with_a_topic_what_programs_do() {
        let joined = Joined::start(world());
        let Some(conversation) = java("Conversation", &[&joined.address()], NO_ENVIRONMENT) else {
            return;
        };
        let ended = conversation.end();
        let last = ended.lines.last().map(String::as_str);
        assert_eq!(last, Some("done"), "{:?}\n{}", ended.lines, ended.errors);
        assert_eq!(
            joined.counts().not_crossed,
            [(Reason::Malformed, 5)],
            "{}",
            ended.errors
        );
    }

    fn goes_on_after_each_side_was_killed(start: Start) {
        let mut joined = Joined::start(world());
        let (address, manager) = (joined.address(), joined.manager());
        let publish_ice = |seed: &str| {
            let publisher = ice::peer(&["publish", &manager, "ice", seed]);
            publisher.expect("it was there before").succeed();
        };
        let subscribe = ["subscribe", &address, "9"];
        let Some(mut killed) = start(&subscribe, NO_ENVIRONMENT) else {
            return;
        };
        let Some(mut ice) = ice::peer(&["subscribe", &manager, "9"]) else {
            return;
        };
        killed.ready();
        ice.ready();
        publish_ice("1");
        assert_lines(&mut killed, &[("ice", 1)]);
        assert_lines(&mut ice, &[("ice", 1)]);

        // The program over there.
        killed.kill();
        eventually("the program to have left", || {
            joined.bridge().state().peer_count == 0
        });
        let mut again = start(&subscribe, NO_ENVIRONMENT).expect("it was there before");
        again.ready();
        publish_ice("2");
        assert_lines(&mut again, &[("ice", 2)]);
        assert_lines(&mut ice, &[("ice", 2)]);

        // The bridge.
        joined.end_bridge();
        again.kill();
        let settings = Settings {
            listen: address.clone(),
            ..Settings::default()
        };
        joined.start_bridge(world_with(settings));
        assert_eq!(joined.address(), address);
        let mut again = start(&subscribe, NO_ENVIRONMENT).expect("it was there before");
        again.ready();
        let publish = ["publish", &address, "amqp", "3"];
        start(&publish, NO_ENVIRONMENT)
            .expect("it was there before")
            .succeed();
        assert_lines(&mut again, &[("amqp", 3)]);
        assert_lines(&mut ice, &[("amqp", 3)]);

        // The Ice program.
        ice.kill();
        let mut ice = ice::peer(&["subscribe", &manager, "1"]).expect("it was there before");
        ice.ready();
        start(&["publish", &address, "amqp", "4"], NO_ENVIRONMENT)
            .expect("it was there before")
            .succeed();
        assert_lines(&mut again, &[("amqp", 4)]);
        assert_lines(&mut ice, &[("amqp", 4)]);
        ice.succeed();
    }

    #[test]
    fn a_jms_program_goes_on_after_each_side_was_killed() {
        goes_on_after_each_side_was_killed(jms);
    }

    #[test]
    fn a_proton_program_goes_on_after_each_side_was_killed() {
        goes_on_after_each_side_was_killed(proton);
    }
}
