//! Lets in who has the token, and counts who came, before any servant is asked.
//!
//! Usage: `interceptor-server [ENDPOINT]`

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use floe::dispatch::{DispatchFuture, Request};
use floe::pipeline::{DispatchInterceptor, Metrics, NextDispatch};
use floe::{Communicator, Current, InvokeError, SystemException};
use interceptor::demo::{Vault, VaultDispatcher};

struct Doorkeeper;

impl DispatchInterceptor for Doorkeeper {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        let context = request.current().context();
        if context.get("token").is_some_and(|token| token == "sesame") {
            return next.dispatch(request);
        }
        let refused = SystemException::UnknownException("show me the token".into());
        Box::pin(async { Err(refused) })
    }
}

struct Number(AtomicI32);

impl Vault for Number {
    async fn exchange(&self, number: i32, _current: &Current) -> Result<i32, InvokeError> {
        Ok(self.0.swap(number, Ordering::Relaxed))
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interceptor-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 4065");

    let communicator = Communicator::new();
    communicator.shutdown_on_signals()?;
    let adapter = communicator.adapter(endpoint).await?;
    let metrics = Metrics::new();
    adapter.intercept(metrics.clone());
    adapter.intercept(Doorkeeper);
    let vault = VaultDispatcher::new(Number(AtomicI32::new(7)));
    let proxy = adapter.add("vault", vault)?;
    adapter.activate();
    println!("ready {proxy}");

    communicator.wait_for_shutdown().await;
    for (operation, numbers) in metrics.snapshot() {
        let (let_in, refused) = (numbers.succeeded, numbers.failed);
        println!("{operation}: let in {let_in}, refused {refused}");
    }
    Ok(())
}
