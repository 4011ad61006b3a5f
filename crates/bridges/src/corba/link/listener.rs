//! Accepts connections.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::incoming::serve;
use crate::corba::objects::Objects;

/// The wait after a connection could not be accepted: file descriptors may have run out.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(100);
/// The time that connections have to end.
const END_LIMIT: Duration = Duration::from_millis(1_500);

/// What the connections share.
pub(in crate::corba) struct Listening {
    pub(in crate::corba) objects: Arc<Objects>,
    pub(in crate::corba) connections_max: usize,
    pub(in crate::corba) message_len_max: usize,
    /// The programs that are connected.
    pub(in crate::corba) connected: Connected,
}

/// The programs that are connected, by a number.
#[derive(Debug, Clone, Default)]
pub(in crate::corba) struct Connected(Arc<Mutex<BTreeMap<u64, SocketAddr>>>);

impl Connected {
    pub(in crate::corba) fn addresses(&self) -> Vec<SocketAddr> {
        self.lock().values().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, SocketAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves connections until the bridge ends, and then ends them.
pub(in crate::corba) async fn listen(
    listener: TcpListener,
    listening: Listening,
    mut ending: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    let mut number = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = tasks.join_next(), if !tasks.is_empty() => continue,
            _ = ending.wait_for(|is_ending| *is_ending) => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a CORBA connection cannot be accepted: {error}");
                tokio::time::sleep(ACCEPT_BACK_OFF).await;
                continue;
            }
        };
        let connected = &listening.connected;
        if connected.lock().len() >= listening.connections_max {
            tracing::debug!("{address} is one connection too many");
            continue;
        }
        number += 1;
        connected.lock().insert(number, address);
        let (connected, objects) = (connected.clone(), Arc::clone(&listening.objects));
        let (len_max, ending) = (listening.message_len_max, ending.clone());
        tasks.spawn(async move {
            let _entry = Entry(connected, number);
            serve(stream, address, objects, len_max, ending).await;
        });
    }
    drop(listener);
    let ended = async { while tasks.join_next().await.is_some() {} };
    // The others are aborted with the set.
    let _ = tokio::time::timeout(END_LIMIT, ended).await;
}

/// Removes a connection from the list when its task ends, however that is.
struct Entry(Connected, u64);

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}
