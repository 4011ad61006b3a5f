//! Real peers: Qpid JMS and Qpid Proton for Python, served by a broker in memory that is made of the crate.
//!
//! `cargo xtask test` and `cargo xtask interop-amqp` provide Qpid JMS from Maven; Proton and Java are packages of Debian.

mod broker;
mod peer;
mod server;

use std::process::Command;

use peer::Program;
use server::Server;

#[test]
fn qpid_jms_does_all_that_a_jms_program_does_but_transactions() {
    let Some(mut jms) = jms_or_skip() else { return };
    let server = Server::start();
    let address = format!("amqp://{}", server.address);
    // Steps on connections of their own make vectors that can be read; see `tests/vectors/README.md`.
    if std::env::var_os("FLOE_AMQP_RECORD").is_some() {
        jms.arg("record").arg(address);
        Program::start("Qpid JMS", &mut jms).succeed();
        return;
    }
    jms.arg("conversation").arg(address);
    let lines = Program::start("Qpid JMS", &mut jms).succeed();
    assert_eq!(lines.last().map(String::as_str), Some("done"), "{lines:?}");
    let (seen, subscription_count) = server.look();
    assert_eq!(subscription_count, 0, "all are closed or unsubscribed");
    assert_eq!(seen.selectors, ["color = 'red'"]);
    let late = |error: &&String| !error.contains("not implemented");
    let unexpected: Vec<_> = seen
        .errors
        .iter()
        .filter(late)
        .filter(|error| !error.contains("name and password"))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
}

#[test]
fn a_jms_program_that_vanishes_leaves_no_subscription() {
    let Some(mut jms) = jms_or_skip() else { return };
    let server = Server::start();
    jms.arg("vanish").arg(format!("amqp://{}", server.address));
    let mut program = Program::start("Qpid JMS", &mut jms);
    assert_eq!(program.line(), "subscribed");
    assert_eq!(server.look().1, 1);
    program.kill();
    peer::eventually("the subscription to go", || server.look().1 == 0);
}

#[test]
fn proton_for_python_sends_and_receives_with_links_of_one_name() {
    let Some(mut python) = proton_or_skip() else {
        return;
    };
    let server = Server::start();
    python.arg(format!("{}", server.address));
    let lines = Program::start("Proton for Python", &mut python).succeed();
    assert_eq!(lines.last().map(String::as_str), Some("done"), "{lines:?}");
    peer::eventually("the subscriptions to go", || server.look().1 == 0);
}

/// The Java program with Qpid JMS.
fn jms_or_skip() -> Option<Command> {
    const PEER: &str = "qpid-jms";
    let Some(folder) = std::env::var_os("FLOE_QPID_JMS") else {
        let reason =
            "FLOE_QPID_JMS names no folder with its jars: cargo xtask interop-amqp provides one";
        peer::skip(PEER, reason);
        return None;
    };
    // Maven's repository may be out of reach, which the gate says by an empty name, and which fails nothing.
    if folder.is_empty() {
        return None;
    }
    if !peer::is_there("java", &["-version"]) {
        peer::skip(PEER, "java does not run");
        return None;
    }
    let mut jars = folder;
    jars.push("/*");
    let mut java = Command::new("java");
    java.arg("-Xmx512m").arg("-cp").arg(jars);
    java.arg(peer::source("Conversation.java"));
    Some(java)
}

fn proton_or_skip() -> Option<Command> {
    // Debian's package belongs to Debian's Python.
    let pythons = ["/usr/bin/python3", "python3"];
    let python = pythons
        .into_iter()
        .find(|python| peer::is_there(python, &["-c", "import proton"]));
    let Some(python) = python else {
        let reason = "Python cannot import proton: install python3-qpid-proton";
        peer::skip("qpid-proton", reason);
        return None;
    };
    let mut command = Command::new(python);
    command.arg(peer::source("conversation.py"));
    Some(command)
}
