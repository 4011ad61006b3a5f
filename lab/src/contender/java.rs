//! Contenders that are programs in Java, which Maven builds: what all of them have in common, and the programs.
//!
//! One program does the scenarios `events` and `pubsub-rtt`: roles are the same for all, and a `Messaging` carries the events.

use super::{Program, peer};

/// The sources of a program: its project, its `Contender.java`, further files of its own by name, and what all have in common.
macro_rules! java_sources {
    ($project:literal, $folder:literal, $($own:literal),*) => {
        &[
            (
                "pom.xml",
                include_str!(concat!("../../contenders/java/", $project)),
            ),
            (
                "contender.sh",
                include_str!("../../contenders/java/contender.sh"),
            ),
            (
                "src/main/java/floe/lab/Contender.java",
                include_str!(concat!("../../contenders/", $folder, "/Contender.java")),
            ),
            java_sources!(@shared "Main.java"),
            java_sources!(@shared "Messaging.java"),
            java_sources!(@shared "Number.java"),
            java_sources!(@shared "Pinging.java"),
            java_sources!(@shared "Publishing.java"),
            java_sources!(@shared "Tally.java"),
            java_sources!(@shared "Task.java"),
            $(java_sources!(@shared $own),)*
        ]
    };
    (@shared $name:literal) => {
        (
            concat!("src/main/java/floe/lab/", $name),
            include_str!(concat!("../../contenders/java/", $name)),
        )
    };
}

/// Compiles; the classes and the libraries stay, beside what starts them.
const MAVEN_BUILD: &[&[&str]] = &[
    &["mvn", "--quiet", "--batch-mode", "compile"],
    &["install", "-m", "755", "contender.sh", "fresh"],
];

/// ActiveMQ Artemis, a broker of JMS, with its own client.
pub(super) static ARTEMIS: Program = Program {
    peer: &peer::ARTEMIS,
    folder: "artemis",
    sources: java_sources!("jms.xml", "artemis", "Jms.java"),
    data: None,
    build: MAVEN_BUILD,
};

/// The same broker with Qpid JMS, over AMQP 1.0.
pub(super) static QPID: Program = Program {
    peer: &peer::QPID,
    folder: "qpid",
    sources: java_sources!("jms.xml", "qpid", "Jms.java"),
    data: None,
    build: MAVEN_BUILD,
};

/// JacORB's notification service, with its clients.
pub(super) static JACORB: Program = Program {
    peer: &peer::JACORB,
    folder: "jacorb",
    sources: java_sources!("jacorb.xml", "jacorb",),
    data: None,
    build: MAVEN_BUILD,
};

/// WS-Notification with Apache CXF.
pub(super) static WSN: Program = Program {
    peer: &peer::WSN,
    folder: "wsn",
    sources: java_sources!("wsn.xml", "wsn",),
    data: None,
    build: MAVEN_BUILD,
};
