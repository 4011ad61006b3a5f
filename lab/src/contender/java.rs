//! Contenders that are programs in Java, which Maven builds: what all of them have in common, and the programs.
//!
//! One program does the scenarios `events` and `pubsub-rtt`: roles are the same for all, and a `Messaging` carries the events. That of
//! `durable` has roles of its own.

use super::{Program, peer};

/// The sources of a program: its project, what starts it, its own files by folder, and those that it shares with others.
macro_rules! java_sources {
    ($project:literal, $script:literal, $folder:literal: $($own:literal),+; $($shared:literal),*) => {
        &[
            (
                "pom.xml",
                include_str!(concat!("../../contenders/java/", $project)),
            ),
            (
                "contender.sh",
                include_str!(concat!("../../contenders/", $script)),
            ),
            $(java_sources!(@of $folder, $own),)+
            java_sources!(@of "java", "Main.java"),
            $(java_sources!(@of "java", $shared),)*
        ]
    };
    (@of $folder:literal, $name:literal) => {
        (
            concat!("src/main/java/floe/lab/", $name),
            include_str!(concat!("../../contenders/", $folder, "/", $name)),
        )
    };
}

/// The sources of a program that brings a `Messaging`, with further files that it shares.
macro_rules! messaging_sources {
    ($project:literal, $folder:literal $(, $shared:literal)*) => {
        java_sources!(
            $project,
            "java/contender.sh",
            $folder: "Contender.java";
            "Messaging.java", "Number.java", "Pinging.java", "Publishing.java", "Roles.java", "Tally.java", "Task.java"
            $(, $shared)*
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
    sources: messaging_sources!("jms.xml", "artemis", "Jms.java"),
    data: None,
    build: MAVEN_BUILD,
};

/// Artemis with its journal, for the scenario `durable`.
pub(super) static ARTEMIS_DURABLE: Program = Program {
    peer: &peer::ARTEMIS_JOURNAL,
    folder: "artemis-durable",
    sources: java_sources!(
        "jms.xml",
        "artemis/durable/contender.sh",
        "artemis/durable": "Broker.java", "Case.java", "Replaying.java", "Roles.java", "Storing.java", "Subscription.java";
    ),
    data: None,
    build: &[
        MAVEN_BUILD[0],
        // What the journal calls, for x86-64 alone. The Java machine looks for it in a folder, and not in a jar.
        &[
            "sh",
            "-c",
            "jar -xf lib/activemq-artemis-native-*.jar lib/linux-x86_64",
        ],
        MAVEN_BUILD[1],
    ],
};

/// The broker of Artemis in memory, with Qpid JMS over AMQP 1.0.
pub(super) static QPID: Program = Program {
    peer: &peer::QPID,
    folder: "qpid",
    sources: messaging_sources!("jms.xml", "qpid", "Jms.java"),
    data: None,
    build: MAVEN_BUILD,
};

/// JacORB's notification service, with its clients.
pub(super) static JACORB: Program = Program {
    peer: &peer::JACORB,
    folder: "jacorb",
    sources: messaging_sources!("jacorb.xml", "jacorb"),
    data: None,
    build: MAVEN_BUILD,
};

/// WS-Notification with Apache CXF.
pub(super) static WSN: Program = Program {
    peer: &peer::WSN,
    folder: "wsn",
    sources: messaging_sources!("wsn.xml", "wsn"),
    data: None,
    build: MAVEN_BUILD,
};
