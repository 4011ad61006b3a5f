//! Requests of a client that are sent until they have an answer.

use std::sync::Arc;
use std::time::Duration;

use floe::pipeline::{Interceptor, Invocation, InvokeFuture, Next};

use floe::{InvocationMode, InvokeError, LocalError, Reference};
use tokio::time::{Instant, timeout, timeout_at};

use super::session::{GatewayLink, Shared, lock};
use crate::core::ForwardMode;
use crate::service::{FLOOR, NUMBER, is_lost};

/// Numbers each invocation, and repeats it over the next connection if the connection was lost.
pub(super) struct ExactlyOnce(pub(super) Arc<Shared>);

/// How long an invocation that failed waits for the news that the connection was lost, or is there again.
const NEWS_WAIT: Duration = Duration::from_secs(10);

impl Interceptor for ExactlyOnce {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            let number = Number::begin(&self.0);
            let mut link = self.0.subscribe();
            loop {
                let connection = connected(&mut link, invocation.deadline()).await?;
                let result = next.invoke(number.of(&invocation)).await;
                match result {
                    Err(error) if may_pass(&error) => {
                        let changed = link.wait_for(|link| match link {
                            GatewayLink::Up(now) => *now != connection,
                            GatewayLink::Down | GatewayLink::Lost(_) => true,
                        });
                        match timeout(NEWS_WAIT, changed).await {
                            Ok(Ok(_)) => {}
                            // The connection works, but the gateway cannot be reached.
                            _ => return Err(error),
                        }
                    }
                    result => return result,
                }
            }
        })
    }
}

/// The number of an invocation. It is released when the invocation ends, even if that is cancelled.
struct Number<'a> {
    shared: &'a Shared,
    number: u64,
}

impl<'a> Number<'a> {
    fn begin(shared: &'a Shared) -> Self {
        let number = lock(&shared.numbers).begin();
        Self { shared, number }
    }

    /// Returns the invocation with its number. A oneway invocation becomes a twoway one, which the gateway answers when
    /// it has accepted it.
    fn of(&self, invocation: &Invocation) -> Invocation {
        let mut numbered = invocation.clone();
        let floor = lock(&self.shared.numbers).floor();
        let context = numbered.context_mut();
        context.insert(NUMBER.to_owned(), self.number.to_string());
        context.insert(FLOOR.to_owned(), floor.to_string());
        let target = numbered.target().clone();
        let letter = match target.mode {
            InvocationMode::Oneway => Some('o'),
            InvocationMode::BatchOneway => Some('O'),
            _ => None,
        };
        if let Some(letter) = letter {
            let context = numbered.context_mut();
            let letters = context.entry(ForwardMode::KEY.to_owned()).or_default();
            letters.insert(0, letter);
            numbered.set_target(Reference {
                mode: InvocationMode::Twoway,
                ..(*target).clone()
            });
        }
        numbered
    }
}

impl Drop for Number<'_> {
    fn drop(&mut self) {
        lock(&self.shared.numbers).end(self.number);
    }
}

/// The connection, as soon as there is one.
async fn connected(
    link: &mut tokio::sync::watch::Receiver<GatewayLink>,
    deadline: Option<Instant>,
) -> Result<floe::Connection, InvokeError> {
    let up = link.wait_for(|link| !matches!(link, GatewayLink::Down));
    let up = match deadline {
        Some(deadline) => timeout_at(deadline, up).await,
        None => Ok(up.await),
    };
    let gone = |reason: &str| {
        let source = std::io::Error::new(std::io::ErrorKind::NotConnected, reason.to_owned());
        InvokeError::NotDispatched(LocalError::Connect {
            endpoint: "the gateway".to_owned(),
            source: source.into(),
        })
    };
    match up.as_ref().map(|up| up.as_deref()) {
        Ok(Ok(GatewayLink::Up(connection))) => Ok(connection.clone()),
        Ok(Ok(GatewayLink::Lost(reason))) => Err(gone(reason)),
        Ok(_) => Err(gone("the session was dropped")),
        Err(_) => Err(gone("the gateway has not come back in time")),
    }
}

/// Returns true if another connection may help.
fn may_pass(error: &InvokeError) -> bool {
    is_lost(error)
        || matches!(
            error,
            InvokeError::NotDispatched(
                LocalError::Connect { .. }
                    | LocalError::ConnectTimeout { .. }
                    | LocalError::Router { .. }
            )
        )
}
