//! ActiveMQ Artemis, a broker of JMS, with its own client: both in a program in Java, which is built with Maven.

use super::{Clients, EventsContender, Service};
use crate::contender::{Contender, Origin, Program, peer};

pub(crate) const ARTEMIS: Contender = Contender {
    name: "artemis",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Built,
        clients: Clients::Built(&ARTEMIS_PROGRAM),
    }),
};

/// The broker, and clients of all scenarios.
pub(crate) static ARTEMIS_PROGRAM: Program = Program {
    peer: &peer::ARTEMIS,
    folder: "artemis",
    sources: &[
        (
            "pom.xml",
            include_str!("../../../contenders/artemis/pom.xml"),
        ),
        (
            "contender.sh",
            include_str!("../../../contenders/artemis/contender.sh"),
        ),
        (
            "src/main/java/floe/lab/Main.java",
            include_str!("../../../contenders/artemis/Main.java"),
        ),
        (
            "src/main/java/floe/lab/Task.java",
            include_str!("../../../contenders/artemis/Task.java"),
        ),
        (
            "src/main/java/floe/lab/Number.java",
            include_str!("../../../contenders/artemis/Number.java"),
        ),
        (
            "src/main/java/floe/lab/Publishing.java",
            include_str!("../../../contenders/artemis/Publishing.java"),
        ),
        (
            "src/main/java/floe/lab/Tally.java",
            include_str!("../../../contenders/artemis/Tally.java"),
        ),
        (
            "src/main/java/floe/lab/Pinging.java",
            include_str!("../../../contenders/artemis/Pinging.java"),
        ),
        (
            "src/main/java/floe/lab/Artemis.java",
            include_str!("../../../contenders/artemis/Artemis.java"),
        ),
    ],
    data: None,
    // The classes and the libraries stay, beside what starts them.
    build: &[
        &["mvn", "--quiet", "--batch-mode", "compile"],
        &["install", "-m", "755", "contender.sh", "fresh"],
    ],
};
