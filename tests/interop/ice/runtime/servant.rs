//! The Floe servants of `Runtime.ice`: they do as those of the Ice peers beside them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use floe::dispatch::{
    Cookie, DispatchFuture, DispatchSlot, LocateFuture, Located, LocatorError, Request, Requests,
    ServantLocator,
};
use floe::message::RequestFailed;
use floe::settings::AdapterSettings;
use floe::{
    Adapter, Communicator, Connection, Current, Dispatcher, Identity, InvokeError, SystemException,
    TypedProxy,
};
use tokio::sync::oneshot;

use super::contract::runtime::*;

/// Serves all objects; gives the proxy of "probe".
pub(crate) async fn serve(communicator: &Communicator, endpoints: &str) -> (Adapter, ProbeProxy) {
    let settings = AdapterSettings::default();
    serve_with(communicator, endpoints, settings).await
}

/// Serves all objects, with settings of the adapter; gives the proxy of "probe".
pub(crate) async fn serve_with(
    communicator: &Communicator,
    endpoints: &str,
    settings: AdapterSettings,
) -> (Adapter, ProbeProxy) {
    let adapter = communicator.adapter_with(endpoints, settings).await;
    let adapter = adapter.expect("a free port");
    let shared = Arc::new(Shared::default());
    let servant = |name| {
        let shared = shared.clone();
        ProbeDispatcher::new(Arc::new(Servant { name, shared }))
    };
    let proxy = adapter.add("probe", servant("probe")).expect("new");
    let side = adapter.add_facet("probe", "side", servant("side"));
    side.expect("a new facet");
    let default = adapter.add_default("default", servant("default"));
    default.expect("a new category");
    let locator = Locator {
        servant: Arc::new(servant("located")),
        shared: shared.clone(),
    };
    let located = adapter.add_locator("located", locator);
    located.expect("a new category");
    let forward = adapter.add_default("forward", Forwarder);
    forward.expect("a new category");
    adapter.activate();
    (adapter, ProbeProxy::from_proxy(proxy))
}

/// The state that all servants of a server share.
#[derive(Default)]
struct Shared {
    sum: AtomicI32,
    held: Mutex<HashMap<i32, Vec<oneshot::Sender<()>>>>,
    executions: Mutex<HashMap<String, i32>>,
    located: AtomicI32,
    finished: AtomicI32,
    located_mode: AtomicU8,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this lock panics")
}

struct Servant {
    name: &'static str,
    shared: Arc<Shared>,
}

impl Probe for Servant {
    async fn see(&self, current: &Current) -> Result<Seen, InvokeError> {
        let Identity { category, name } = current.identity();
        Ok(Seen {
            category,
            name,
            facet: current.facet().to_owned(),
            operation: current.operation().to_owned(),
            mode: current.mode() as u8,
            is_oneway: current.is_oneway(),
            encoding: current.encoding().to_string(),
            context: current.context(),
            servant: self.name.to_owned(),
        })
    }

    async fn peek(&self, current: &Current) -> Result<Seen, InvokeError> {
        self.see(current).await
    }

    async fn add(&self, amount: i32, _: &Current) -> Result<i32, InvokeError> {
        Ok(self.shared.sum.fetch_add(amount, Ordering::SeqCst) + amount)
    }

    async fn total(&self, _: &Current) -> Result<i32, InvokeError> {
        Ok(self.shared.sum.load(Ordering::SeqCst))
    }

    async fn reset(&self, _: &Current) -> Result<(), InvokeError> {
        self.shared.sum.store(0, Ordering::SeqCst);
        Ok(())
    }

    async fn note(&self, _: Bytes, _: &Current) -> Result<(), InvokeError> {
        self.shared.sum.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn echo(&self, data: Bytes, _: &Current) -> Result<Bytes, InvokeError> {
        Ok(data)
    }

    async fn linked(&self, current: &Current) -> Result<Link, InvokeError> {
        Ok(link_of(&current.connection().expect("over the wire")))
    }

    async fn hold(&self, key: i32, _: &Current) -> Result<i32, InvokeError> {
        let (release, released) = oneshot::channel();
        lock(&self.shared.held)
            .entry(key)
            .or_default()
            .push(release);
        released.await.expect("it is not dropped");
        Ok(key)
    }

    async fn release(&self, key: i32, _: &Current) -> Result<i32, InvokeError> {
        let held = lock(&self.shared.held).remove(&key).unwrap_or_default();
        let count = held.len() as i32;
        for release in held {
            // Whoever was cancelled may be gone.
            let _ = release.send(());
        }
        Ok(count)
    }

    async fn sleep(&self, duration: i32, _: &Current) -> Result<(), InvokeError> {
        tokio::time::sleep(millis(duration)).await;
        Ok(())
    }

    async fn pause(&self, duration: i32, current: &Current) -> Result<(), InvokeError> {
        let adapter = current.adapter().clone();
        adapter.hold();
        tokio::spawn(async move {
            tokio::time::sleep(millis(duration)).await;
            adapter.activate();
        });
        Ok(())
    }

    async fn close(&self, gracefully: bool, current: &Current) -> Result<(), InvokeError> {
        let connection = current.connection().expect("over the wire");
        if gracefully {
            // It waits for this dispatch.
            tokio::spawn(async move { connection.close().await });
        } else {
            connection.abort();
        }
        Ok(())
    }

    async fn stumble(&self, key: String, current: &Current) -> Result<i32, InvokeError> {
        let count = {
            let mut executions = lock(&self.shared.executions);
            let count = executions.entry(key).or_default();
            *count += 1;
            *count
        };
        if count == 1 {
            self.close(false, current).await?;
        }
        Ok(count)
    }

    async fn stumble_idempotently(
        &self,
        key: String,
        current: &Current,
    ) -> Result<i32, InvokeError> {
        self.stumble(key, current).await
    }

    async fn executions(&self, key: String, _: &Current) -> Result<i32, InvokeError> {
        let executions = lock(&self.shared.executions);
        Ok(executions.get(&key).copied().unwrap_or_default())
    }

    async fn call_back(
        &self,
        category: String,
        name: String,
        count: i32,
        current: &Current,
    ) -> Result<i32, InvokeError> {
        let connection = current.connection().expect("over the wire");
        let callback = connection.proxy(Identity { category, name });
        let callback = CallbackProxy::from_proxy(callback);
        let mut total = 0;
        for number in 1..=count {
            total += callback.called(number).await?;
        }
        callback.ice_oneway().told(count).await?;
        Ok(total)
    }

    async fn fail(&self, kind: String, _: &Current) -> Result<(), RefusedError> {
        let told = || "told so".to_owned();
        let exception = match kind.as_str() {
            "object" => SystemException::ObjectNotExist(RequestFailed::default()),
            "facet" => SystemException::FacetNotExist(RequestFailed::default()),
            "operation" => SystemException::OperationNotExist(RequestFailed::default()),
            "unknown" => SystemException::UnknownException(told()),
            "local" => SystemException::UnknownLocalException(told()),
            "user" => SystemException::UnknownUserException(told()),
            "undeclared" => {
                let type_id = "::Runtime::Undeclared".to_owned();
                return Err(InvokeError::UndeclaredException { type_id }.into());
            }
            "refused" => {
                let reason = "asked to".to_owned();
                return Err(Refused { reason }.into());
            }
            _ => panic!("asked to fail"),
        };
        Err(InvokeError::from(exception).into())
    }

    async fn located(&self, _: &Current) -> Result<(i32, i32), InvokeError> {
        let Shared {
            located, finished, ..
        } = &*self.shared;
        Ok((
            located.load(Ordering::SeqCst),
            finished.load(Ordering::SeqCst),
        ))
    }

    async fn located_mode(&self, _: &Current) -> Result<u8, InvokeError> {
        Ok(self.shared.located_mode.load(Ordering::SeqCst))
    }
}

fn millis(duration: i32) -> Duration {
    Duration::from_millis(duration.unsigned_abs().into())
}

/// Returns the facts about a connection.
pub(crate) fn link_of(connection: &Connection) -> Link {
    let info = connection.info();
    let host = |address: Option<std::net::SocketAddr>| {
        address.map_or_else(String::new, |address| address.ip().to_string())
    };
    let port =
        |address: Option<std::net::SocketAddr>| address.map_or(0, |address| address.port().into());
    Link {
        transport: info.transport.to_owned(),
        is_incoming: info.is_incoming,
        local_host: host(info.local_address),
        local_port: port(info.local_address),
        remote_host: host(info.remote_address),
        remote_port: port(info.remote_address),
        is_encrypted: info.cipher.is_some(),
        certificate_count: info.peer_certificates.len() as i32,
    }
}

/// Finds a servant for each name but `nobody`.
struct Locator {
    servant: Arc<dyn Dispatcher>,
    shared: Arc<Shared>,
}

impl ServantLocator for Locator {
    fn locate<'a>(&'a self, current: &'a Current) -> LocateFuture<'a> {
        Box::pin(async move {
            match current.name() {
                "nobody" => return Ok(None),
                "refused" => return Err(refused("locate")),
                _ => {}
            }
            self.shared.located.fetch_add(1, Ordering::SeqCst);
            let mode = current.mode() as u8;
            self.shared.located_mode.store(mode, Ordering::SeqCst);
            Ok(Some(
                Located::new(self.servant.clone()).with_cookie("cookie"),
            ))
        })
    }

    fn finished(
        &self,
        current: &Current,
        _: &Arc<dyn Dispatcher>,
        cookie: Cookie,
    ) -> Result<(), LocatorError> {
        let cookie = cookie.and_then(|cookie| cookie.downcast::<&str>().ok());
        assert_eq!(cookie.as_deref(), Some(&"cookie"));
        self.shared.finished.fetch_add(1, Ordering::SeqCst);
        match current.name() {
            "unfinished" => Err(refused("finished")),
            _ => Ok(()),
        }
    }
}

fn refused(reason: &str) -> LocatorError {
    let reason = reason.to_owned();
    RefusedError::from(Refused { reason }).into()
}

/// Forwards each request, unopened, to the object of its name.
struct Forwarder;

impl Dispatcher for Forwarder {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Forwarder {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let current = request.current().clone();
            let target = current.adapter().proxy(Identity::new(current.name()));
            match target.forward(&request.event()).await {
                Ok(Some(outcome)) => request.respond(&outcome),
                Ok(None) => request.returned_nothing(),
                Err(InvokeError::System(exception)) => Err(exception),
                Err(error) => Err(SystemException::UnknownLocalException(error.to_string())),
            }
        })
    }
}

/// An object of a client.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) AtomicI32);

impl Callback for Heard {
    async fn called(&self, number: i32, _: &Current) -> Result<i32, InvokeError> {
        Ok(number + 1)
    }

    async fn told(&self, number: i32, _: &Current) -> Result<(), InvokeError> {
        self.0.store(number, Ordering::SeqCst);
        Ok(())
    }
}
