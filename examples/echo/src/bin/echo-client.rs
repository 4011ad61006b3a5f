//! Sends numbers, and says how long they took to come back.
//!
//! Usage: `echo-client [PROXY]`

use std::process::ExitCode;
use std::time::Instant;

use echo::floe::EchoProxy;
use floe::Communicator;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echo-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let proxy = std::env::args().nth(1);
    let proxy = proxy
        .as_deref()
        .unwrap_or("Floe/Echo:tcp -h 127.0.0.1 -p 10007");

    let communicator = Communicator::new();
    let echo: EchoProxy = communicator.proxy(proxy)?;
    for bytes in [16, 1024, 524_288] {
        let values = vec![0.5; bytes / 8];
        let start = Instant::now();
        let answer = echo.doubles(&values).await?;
        let millis = start.elapsed().as_secs_f64() * 1e3;
        assert_eq!(answer, values);
        println!("{bytes} bytes came back in {millis:.3} ms");
    }
    communicator.shutdown().await;
    Ok(())
}
