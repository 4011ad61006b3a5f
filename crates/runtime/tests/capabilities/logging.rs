//! A program sees the log after one line of set-up.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use floe::dispatch::dispatch_fn;
use floe::{Communicator, EncodeError, InvokeError, Proxy, SystemException};

use crate::echo::{NOTHING, returned};

/// In the process that this test starts it is the program which logs.
#[tokio::test]
async fn a_reply_that_cannot_be_encoded_is_a_line_on_standard_error() {
    if std::env::var_os(PROGRAM).is_some() {
        return answer_what_cannot_be_encoded().await;
    }
    let itself = std::env::current_exe().expect("the program of these tests");
    let mut program = Command::new(itself);
    program.env(PROGRAM, "1").args([
        "logging::a_reply_that_cannot_be_encoded_is_a_line_on_standard_error",
        "--exact",
        "--nocapture",
    ]);
    let ended = program.output().expect("it starts");
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{errors}");
    let lines: Vec<_> = errors.lines().filter(|l| l.contains("WARN")).collect();
    let [line] = lines[..] else {
        panic!("expected one line, got {errors}");
    };
    for part in [
        "the result of a servant cannot be encoded",
        "cannot encode a fixed proxy",
        "makeProxy",
        "maker",
    ] {
        assert!(line.contains(part), "expected {part}, got {line}");
    }
}

/// In the process that this test starts it is the program which logs.
#[test]
fn a_program_goes_on_though_nobody_reads_its_standard_error() {
    if std::env::var_os(PROGRAM).is_some() {
        return log_more_than_a_pipe_takes();
    }
    let itself = std::env::current_exe().expect("the program of these tests");
    let mut program = Command::new(itself);
    program.env(PROGRAM, "1").args([
        "logging::a_program_goes_on_though_nobody_reads_its_standard_error",
        "--exact",
        "--nocapture",
    ]);
    let pipes = program.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = pipes.spawn().expect("it starts");
    let start = Instant::now();
    let ended = loop {
        if let Some(ended) = running.try_wait().expect("it is ours") {
            break ended;
        }
        if start.elapsed() > Duration::from_secs(60) {
            running.kill().expect("it is ours");
            panic!("the program waits for its log");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(ended.success());
    let mut pipe = running.stderr.take().expect("a pipe");
    let mut lines = String::new();
    pipe.read_to_string(&mut lines).expect("text");
    assert!(lines.contains("line 0 "), "{lines}");
}

/// A pipe takes 64 KiB.
fn log_more_than_a_pipe_takes() {
    floe::log_to_stderr();
    for number in 0..3000 {
        tracing::warn!("line {number} {}", "x".repeat(1000));
    }
}

async fn answer_what_cannot_be_encoded() {
    floe::log_to_stderr();
    // The subscriber that is there stays.
    floe::log_to_stderr();
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let unencodable =
        dispatch_fn(|request| request.returned(|encoder| encoder.fail(EncodeError::FixedProxy)));
    adapter.add("maker", unencodable).expect("a new identity");
    adapter.activate();
    let text = format!("maker:{}", adapter.endpoints()[0]);
    let proxy: Proxy = Communicator::new().proxy(&text).expect("a proxy");
    let answer = returned(&proxy, "makeProxy", &NOTHING).await;
    assert!(
        matches!(
            &answer,
            Err(InvokeError::System(SystemException::UnknownLocalException(
                _
            )))
        ),
        "{answer:?}"
    );
    communicator.shutdown().await;
}

const PROGRAM: &str = "FLOE_TEST_LOGS";
