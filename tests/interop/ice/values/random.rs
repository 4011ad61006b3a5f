//! Values that nobody wrote down, through an Ice for Python process and back: each side says what it saw.

use std::collections::BTreeMap;
use std::sync::Mutex;

use floe::encoding::{ClassFormat, Encoder};
use floe::message::Outcome;
use floe::{Communicator, EncodingVersion, Identity, OperationMode, TypedProxy};
use floe_tests::ice::{Ice, Language, Version};
use floe_tests::peer::Peer;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tokio::runtime::Runtime;

use super::draw::Draw;
use super::older::contract::values::*;
use super::older::tell::{Any, Tell, told};

/// Values that Floe makes; each goes in every encoding and format.
const SENT: u32 = 1_000;

/// Values that Ice makes, in each encoding and format.
const DREAMT: i64 = 700;

/// Exceptions that Floe makes, in each encoding.
const THROWN: u32 = 400;

/// The installed Ice, or with the feature `ice38` that of 3.8.
#[cfg(not(feature = "ice38"))]
pub(crate) fn ice() -> Option<Ice> {
    Ice::or_skip()
}

#[cfg(feature = "ice38")]
pub(crate) fn ice() -> Option<Ice> {
    Some(super::ice38::ice())
}

pub(crate) struct Python {
    pub(crate) peer: PeerProxy,
    maker: MakerProxy,
    pub(crate) runtime: Runtime,
    server: Peer,
}

impl Python {
    pub(crate) fn start(ice: &Ice) -> Self {
        let mut command = ice.values("server", Language::Python, Version::Older);
        let mut server = Peer::start("the Ice server", &mut command);
        let proxy = server.ready();
        let runtime = Runtime::new().expect("a runtime");
        let _context = runtime.enter();
        let peer: PeerProxy = Communicator::new().proxy(&proxy).expect("a proxy");
        let maker = peer.as_proxy().ice_identity(Identity::new("maker"));
        Self {
            maker: MakerProxy::from_proxy(maker),
            peer,
            server,
            runtime,
        }
    }

    pub(crate) fn end(mut self) {
        self.server.close_input();
        self.server.succeed();
    }

    /// Sends a value and gets it back, in every format of an encoding.
    fn echo(&self, encoding: EncodingVersion, value: &Any) -> Result<(), TestCaseError> {
        let peer = self.peer.ice_encoding(encoding);
        let expected = told(&[value]);
        for format in ["sliced", "compact"] {
            let (back, seen) = self
                .runtime
                .block_on(async {
                    match format {
                        "sliced" => peer.sliced(value).await,
                        _ => peer.compact(value).await,
                    }
                })
                .map_err(|error| failed(format!("{encoding} {format}: {error}: {expected}")))?;
            same(encoding, format, &expected, &seen)?;
            same(encoding, format, &expected, &told(&[&back]))?;
        }
        Ok(())
    }
}

/// The parameters of an operation that takes an instance and gives it back.
pub(crate) fn parameters(value: &Any, format: ClassFormat) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
        encoder.set_class_format(format);
        encoder.put(value);
        encoder.finish_classes();
    });
    encoder.finish().expect("the value can be encoded");
    buffer
}

pub(crate) fn failed(text: String) -> TestCaseError {
    TestCaseError::fail(text)
}

fn same(
    encoding: EncodingVersion,
    what: &str,
    expected: &str,
    got: &str,
) -> Result<(), TestCaseError> {
    if expected == got {
        return Ok(());
    }
    Err(failed(format!(
        "{encoding} {what}\nexpected {expected}\n     got {got}"
    )))
}

pub(crate) fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

/// Features that the values must have between them, to show that they are not all alike: classes, and an instance met
/// again.
const KINDS: [&str; 9] = [
    "Node#",
    "Shape#",
    "Circle#",
    "Kept#",
    "Square#",
    "Sample#",
    "Optionals#",
    "unset",
    ",#",
];

fn count_kinds(seen: &mut BTreeMap<&str, u32>, text: &str) {
    for kind in KINDS {
        *seen.entry(kind).or_default() += u32::from(text.contains(kind));
    }
}

const ENCODINGS: [EncodingVersion; 2] = [EncodingVersion::V1_1, EncodingVersion::V1_0];

#[test]
fn values_of_any_kind_come_back_from_ice_as_they_were() {
    let Some(ice) = ice() else { return };
    let python = Python::start(&ice);
    let seen = Mutex::new(BTreeMap::new());
    let sent = runner(SENT).run(&vec(any::<u64>(), 0..300), |tape| {
        for encoding in ENCODINGS {
            let mut draw = Draw::new(&tape, encoding != EncodingVersion::V1_0);
            let value = draw.any();
            draw.finish();
            count_kinds(&mut seen.lock().expect("nobody panics"), &told(&[&value]));
            python.echo(encoding, &value)?;
        }
        Ok(())
    });
    sent.unwrap_or_else(|error| panic!("{error}"));
    let seen = seen.into_inner().expect("nobody panics");
    for kind in KINDS {
        let count = seen.get(kind).copied().unwrap_or_default();
        assert!(count > SENT / 20, "few values with `{kind}`: {seen:?}");
    }
    python.end();
}

/// An operation that takes an instance and gives it back, with such an instance and the format.
pub(crate) fn random_instance(draw: &mut Draw<'_>) -> (&'static str, Any, ClassFormat) {
    match draw.flag() {
        true => ("echoSample", draw.make_sample(), ClassFormat::Compact),
        false => ("echoOptionals", draw.make_optionals(), ClassFormat::Sliced),
    }
}

/// Ice writes instances, tagged values and tables in the order that Floe does, so its bytes are the same.
#[test]
fn ice_writes_the_same_bytes() {
    let Some(ice) = ice() else { return };
    let python = Python::start(&ice);
    let peer = python.peer.as_proxy();
    let written = runner(SENT).run(&vec(any::<u64>(), 0..300), |tape| {
        let mut draw = Draw::new(&tape, true).without_nan();
        let (operation, value, format) = random_instance(&mut draw);
        draw.finish();
        let sent = parameters(&value, format);
        let invocation = peer.invoke(operation, OperationMode::Normal, &sent);
        match python.runtime.block_on(invocation) {
            Ok(Some(Outcome::Returned(got))) if got == sent => Ok(()),
            other => Err(failed(format!(
                "{operation} {value:?}\nsent {sent:02x?}\ngot {other:02x?}"
            ))),
        }
    });
    written.unwrap_or_else(|error| panic!("{error}"));
    python.end();
}

#[test]
fn values_that_ice_makes_arrive_as_it_says_and_go_back() {
    let Some(ice) = ice() else { return };
    let python = Python::start(&ice);
    for encoding in ENCODINGS {
        let maker = python.maker.ice_encoding(encoding);
        for seed in 0..DREAMT {
            let dreams = python
                .runtime
                .block_on(async { [maker.dream(seed).await, maker.dream_compact(seed).await] });
            for dream in dreams {
                let (value, seen) = dream.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert_eq!(told(&[&value]), seen, "{encoding}, seed {seed}");
                let back = python.echo(encoding, &value);
                back.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
    }
    python.end();
}

#[test]
fn exceptions_with_any_values_come_back_from_ice() {
    let Some(ice) = ice() else { return };
    let python = Python::start(&ice);
    let thrown = runner(THROWN).run(&vec(any::<u64>(), 0..150), |tape| {
        for encoding in ENCODINGS {
            let mut draw = Draw::new(&tape, encoding != EncodingVersion::V1_0);
            let maker = python.maker.ice_encoding(encoding);
            let sent = exception(&mut draw);
            draw.finish();
            let fallen = python.runtime.block_on(maker.fall(
                &sent.why,
                sent.code,
                &sent.place,
                sent.more.as_deref(),
                &sent.held,
                sent.labels.as_deref(),
            ));
            let got = fallen.expect_err("it throws always");
            same(encoding, "exception", &expected(sent), &told(&[&got]))?;
        }
        Ok(())
    });
    thrown.unwrap_or_else(|error| panic!("{error}"));
    python.end();
}

fn exception(draw: &mut Draw<'_>) -> FailedDeep {
    let place = draw.node();
    FailedDeep {
        why: draw.text(),
        code: draw.maybe(Draw::int),
        place,
        more: draw.maybe(Draw::text),
        held: draw.held(),
        labels: draw.maybe(|draw| draw.many(Draw::label)),
        shape: None,
    }
}

/// How the exception that the server makes of these values is told.
fn expected(sent: FailedDeep) -> String {
    let exception: Box<dyn Tell> = if sent.held.before != 0 {
        Box::new(sent)
    } else {
        let FailedDeep {
            why,
            code,
            place,
            more,
            ..
        } = sent;
        Box::new(FailedAt {
            why,
            code,
            place,
            more,
        })
    };
    format!("throws {}", told(&[&*exception]))
}
