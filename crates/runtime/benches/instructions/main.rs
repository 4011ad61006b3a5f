//! Counts the instructions of a call at its client and at its server: figures that do not depend on what else the
//! machine does, so that a regression of a few per cent is seen.
//!
//! `cargo bench -p floe --bench instructions` runs each case in callgrind (Debian package `valgrind`) and compares it
//! with `counts.txt` beside this file; `UPDATE=1` writes that file instead. Client and server are two processes. Only
//! the one that a case names runs in callgrind. A count is that of 100 calls.

#[path = "../../../wire/benches/instructions/counts.rs"]
mod counts;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

use floe::blocking;
use floe::contracts::ice::{Process, ProcessDispatcher, ProcessProxy};
use floe::{Communicator, Current, InvocationMode, InvokeError, TypedProxy};
use tokio::runtime::{Builder, Runtime};

use counts::Repetitions;

const ENDPOINT: &str = "tcp -h 127.0.0.1 -p 0";
/// Calls of a repetition. Those without replies leave in a burst, or are collected into a batch; one call with a reply
/// then waits until the server has had them.
const CALL_COUNT: usize = 100;
/// A process warms up in the few.
const REPETITIONS: Repetitions = Repetitions {
    few: 20,
    many: 60,
    rounds: 3,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", kind] => serve(kind, |proxy| {
            println!("{proxy}");
            // The client closes the pipe when it has finished.
            let _ = std::io::stdin().read_line(&mut String::new());
        }),
        ["call", kind, repetitions, proxy] => call(kind, parsed(repetitions), proxy),
        [case, repetitions] => play(case, parsed(repetitions)),
        _ => return REPETITIONS.count(cases()),
    }
    ExitCode::SUCCESS
}

/// The cases, each with the arguments that play it. Those of clients without replies are left out: how often they write
/// depends on the clock, and callgrind makes it run too fast.
fn cases() -> Vec<(String, Vec<String>)> {
    let cases = [
        "twoway-blocking/client",
        "twoway-blocking/server",
        "twoway/client",
        "twoway/server",
        "oneway-blocking/server",
        "oneway/server",
        "batch/client",
        "batch/server",
    ];
    cases
        .map(|case| (case.to_owned(), vec![case.to_owned()]))
        .into()
}

/// Runs one side of a case in this process, and the other one in a child process.
fn play(case: &str, repetitions: u64) {
    match case.split_once('/') {
        Some((kind, "client")) => {
            let mut server = child(&["serve", kind]);
            let mut proxy = String::new();
            let output = server.stdout.take().expect("its output is piped");
            let line = BufReader::new(output).read_line(&mut proxy);
            line.expect("a server prints its proxy");
            call(kind, repetitions, proxy.trim());
            drop(server.stdin.take());
            server.wait().expect("a child ends");
        }
        Some((kind, "server")) => {
            let arguments = ["call", kind, &repetitions.to_string()].map(str::to_owned);
            serve(kind, move |proxy| {
                let [call, kind, repetitions] = &arguments;
                let client = child(&[call, kind, repetitions, proxy]).wait();
                assert!(client.is_ok_and(|end| end.success()), "the client failed");
            });
        }
        _ => panic!("expected a case of this benchmark, got {case}"),
    }
}

fn child(arguments: &[&str]) -> Child {
    let itself = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(itself);
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("the program starts itself")
}

fn parsed(repetitions: &str) -> u64 {
    let count = repetitions.parse();
    count.unwrap_or_else(|_| panic!("expected a number of repetitions, got {repetitions}"))
}

struct Quiet;

impl Process for Quiet {
    async fn shutdown(&self, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn write_message(&self, _: String, _: i32, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }
}

/// Serves until `until` returns. It gets the proxy of the servant.
fn serve(kind: &str, until: impl FnOnce(&str) + Send + 'static) {
    if kind.ends_with("-blocking") {
        let server = blocking::Communicator::new();
        let adapter = server.adapter(ENDPOINT).expect("a port is free");
        let quiet = adapter.add("quiet", ProcessDispatcher::new(Quiet));
        adapter.activate();
        until(&quiet.expect("the name is free").to_string());
        return server.shutdown();
    }
    current_thread().block_on(async {
        let server = Communicator::new();
        let adapter = server.adapter(ENDPOINT).await.expect("a port is free");
        let quiet = adapter.add("quiet", ProcessDispatcher::new(Quiet));
        adapter.activate();
        let quiet = quiet.expect("the name is free").to_string();
        let ended = tokio::task::spawn_blocking(move || until(&quiet));
        ended.await.expect("the other side ends well");
    });
}

/// Makes the calls of a case, as many times as said.
fn call(kind: &str, repetitions: u64, proxy: &str) {
    let mode = match kind {
        "twoway" | "twoway-blocking" => InvocationMode::Twoway,
        "batch" => InvocationMode::BatchOneway,
        _ => InvocationMode::Oneway,
    };
    if kind.ends_with("-blocking") {
        let client = blocking::Communicator::new();
        let process: ProcessProxy = client.proxy(proxy).expect("it is a proxy");
        let called = process.ice_mode(mode);
        for _ in 0..repetitions {
            for _ in 0..CALL_COUNT {
                let written = called.write_message("hello", 1).wait();
                written.expect("the server answers");
            }
            process.shutdown().wait().expect("the server answers");
        }
        return client.shutdown();
    }
    current_thread().block_on(async {
        let client = Communicator::new();
        let process: ProcessProxy = client.proxy(proxy).expect("it is a proxy");
        let called = process.ice_mode(mode);
        for _ in 0..repetitions {
            for _ in 0..CALL_COUNT {
                let written = called.write_message("hello", 1).await;
                written.expect("the server answers");
            }
            called.ice_flush_batch().await.expect("the server reads");
            process.shutdown().await.expect("the server answers");
        }
        client.shutdown().await;
    });
}

fn current_thread() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all();
    builder.build().expect("the system allows a runtime")
}
