//! Shows the token with every call, and tries again if the vault cannot be reached.
//!
//! Usage: `interceptor-client [PROXY]`

use std::process::ExitCode;
use std::time::Duration;

use floe::pipeline::{Interceptor, Invocation, InvokeFuture, Next, Retry};
use floe::{Communicator, InvokeError, SystemException, TypedProxy};
use interceptor::demo::VaultProxy;

struct Token(&'static str);

impl Interceptor for Token {
    fn invoke<'a>(&'a self, mut invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        let context = invocation.context_mut();
        context.insert("token".to_owned(), self.0.to_owned());
        next.invoke(invocation)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interceptor-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let proxy = std::env::args().nth(1);
    let proxy = proxy.as_deref().unwrap_or("vault:tcp -h 127.0.0.1 -p 4065");

    let communicator = Communicator::new();
    let vault: VaultProxy = communicator.proxy(proxy)?;
    match vault.exchange(1).await {
        Err(InvokeError::System(SystemException::UnknownException(text))) => {
            println!("without a token: {text}");
        }
        other => println!("without a token: {other:?}"),
    }
    let vault = vault
        .ice_intercepted(Retry::new(3, Duration::from_millis(100)))
        .ice_intercepted(Token("sesame"));
    println!("with the token: {}", vault.exchange(42).await?);
    println!("and again: {}", vault.exchange(0).await?);
    communicator.shutdown().await;
    Ok(())
}
