//! tonic: gRPC in Rust, on tokio's current-thread runtime in both processes, with windows that hold the longest
//! message. What is not answered is a stream.
//!
//! - `task.rs`: a case, and how it is measured
//! - `server.rs`, `client.rs`: the two roles

mod client;
mod server;
mod task;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use task::Case;

/// The code made from `calls.proto`, and from `codec.proto`, which it imports.
#[allow(
    dead_code,
    reason = "generated for whoever uses it, in whatever part"
)]
mod contract {
    pub(crate) mod floe_calls {
        tonic::include_proto!("floe_calls");
    }
    pub(crate) mod floe_lab {
        tonic::include_proto!("floe_lab");
    }
}

/// The error with which a role fails.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments.as_slice() {
        ["server", case] => runtime.block_on(server::serve(Case::parse(case)?)),
        ["client", case, millis, address] => {
            let case = Case::parse(case)?;
            let round_time = Duration::from_millis(millis.parse()?);
            let address = (*address).to_owned();
            // From a task: tokio looks for new input once more before it goes on with what `block_on` was given.
            let calling = runtime.spawn(async move { client::call(case, round_time, &address).await });
            announce(&runtime.block_on(calling)??)
        }
        _ => Err("expected: server CASE, or client CASE MILLIS ADDRESS".into()),
    }
}

/// Prints the one line that the lab waits for.
fn announce(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}

/// Bytes of the longest message: a million doubles fit.
const MESSAGE_LEN_MAX: u32 = 16 << 20;
