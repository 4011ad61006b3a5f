//! Accepts connections.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Broker;
use super::driver::serve;
use super::limits::{CONNECTIONS_MAX, SHUTDOWN_TIMEOUT};

/// How long to wait if no connection can be accepted: descriptors have run out, mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `stop` turns true. Ends when all of them have ended.
pub(crate) async fn listen(
    listener: TcpListener,
    broker: Arc<Broker>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|is_over| *is_over) => break,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, address)) if connections.len() < CONNECTIONS_MAX => {
                let (broker, stop) = (Arc::clone(&broker), stop.clone());
                connections.spawn(serve(broker, stream, (number, address), stop));
            }
            Ok((_, address)) => tracing::warn!(
                %address,
                "an AMQP connection is refused: there are {CONNECTIONS_MAX}, which is the limit"
            ),
            Err(error) => {
                tracing::warn!(%error, "no AMQP connection can be accepted; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // Those that are late are dropped, and close their sockets by it.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await;
}
