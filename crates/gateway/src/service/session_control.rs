//! Session control: the objects by which an application changes the filters of a session.

use std::sync::{Arc, PoisonError, Weak};

use floe::contracts::glacier2::{
    IdentitySet, IdentitySetDispatcher, IdentitySetProxy, SessionControl, SessionControlDispatcher,
    SessionControlProxy, StringSet, StringSetDispatcher, StringSetProxy,
};
use floe::contracts::ice::{IdentitySeq, StringSeq};
use floe::{
    Adapter, AdapterError, Current, Dispatcher, Identity, InvokeError, Proxy, SystemException,
    TypedProxy,
};

use super::login::random;
use super::session::Session;
use super::sessions::Sessions;

/// Adds the control objects of a session, which are removed when it ends. `None` if servers cannot call back.
pub(super) fn register(
    sessions: &Arc<Sessions>,
    session: &Arc<Session>,
) -> Option<SessionControlProxy> {
    let adapter = sessions.server_adapter.as_ref()?;
    let control = register_all(adapter, sessions, session);
    control
        .inspect_err(|error| {
            tracing::warn!("cannot give the application control of a session: {error}")
        })
        .ok()
}

fn register_all(
    adapter: &Adapter,
    sessions: &Arc<Sessions>,
    session: &Arc<Session>,
) -> Result<SessionControlProxy, AdapterError> {
    let set = |which| {
        let session = Arc::downgrade(session);
        StringSetDispatcher::new(FilterStrings { session, which })
    };
    let categories = add(adapter, session, set(Which::Categories))?;
    let adapter_ids = add(adapter, session, set(Which::AdapterIds))?;
    let identities = IdentitySetDispatcher::new(FilterIdentities(Arc::downgrade(session)));
    let identities = add(adapter, session, identities)?;
    let control = SessionControlObject {
        sessions: Arc::downgrade(sessions),
        session: Arc::downgrade(session),
        categories: StringSetProxy::from_proxy(categories),
        adapter_ids: StringSetProxy::from_proxy(adapter_ids),
        identities: IdentitySetProxy::from_proxy(identities),
    };
    let control = add(adapter, session, SessionControlDispatcher::new(control))?;
    Ok(SessionControlProxy::from_proxy(control))
}

/// Registers an object under a name that cannot be guessed.
fn add(
    adapter: &Adapter,
    session: &Session,
    servant: impl Dispatcher,
) -> Result<Proxy, AdapterError> {
    let name: String = random::<16>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let identity = Identity::new(name);
    let proxy = adapter.add(identity.clone(), servant)?;
    let controls = session.controls.lock();
    controls
        .unwrap_or_else(PoisonError::into_inner)
        .push(identity);
    Ok(proxy)
}

/// The session of a control object.
fn session(session: &Weak<Session>, current: &Current) -> Result<Arc<Session>, InvokeError> {
    session.upgrade().ok_or_else(|| gone(current))
}

/// The exception that the runtime throws for an object that is no longer registered.
fn gone(current: &Current) -> InvokeError {
    let target = floe::message::RequestFailed {
        identity: current.identity(),
        facet: current.facet().to_owned(),
        operation: current.operation().to_owned(),
    };
    SystemException::ObjectNotExist(target).into()
}

struct SessionControlObject {
    sessions: Weak<Sessions>,
    session: Weak<Session>,
    categories: StringSetProxy,
    adapter_ids: StringSetProxy,
    identities: IdentitySetProxy,
}

impl SessionControl for SessionControlObject {
    async fn categories(&self, _current: &Current) -> Result<StringSetProxy, InvokeError> {
        Ok(self.categories.clone())
    }

    async fn adapter_ids(&self, _current: &Current) -> Result<StringSetProxy, InvokeError> {
        Ok(self.adapter_ids.clone())
    }

    async fn identities(&self, _current: &Current) -> Result<IdentitySetProxy, InvokeError> {
        Ok(self.identities.clone())
    }

    async fn get_session_timeout(&self, current: &Current) -> Result<i32, InvokeError> {
        let sessions = self.sessions.upgrade().ok_or_else(|| gone(current))?;
        let timeout = sessions.settings.session_timeout.unwrap_or_default();
        Ok(i32::try_from(timeout.as_secs()).unwrap_or(i32::MAX))
    }

    async fn destroy(&self, current: &Current) -> Result<(), InvokeError> {
        let sessions = self.sessions.upgrade().ok_or_else(|| gone(current))?;
        let session = session(&self.session, current)?;
        sessions.end(&session, "the application has ended it");
        Ok(())
    }
}

/// One of the sets of texts of a session.
struct FilterStrings {
    session: Weak<Session>,
    which: Which,
}

enum Which {
    Categories,
    AdapterIds,
}

impl FilterStrings {
    fn with<T>(
        &self,
        current: &Current,
        run: impl FnOnce(&crate::core::SortedSet<String>) -> T,
    ) -> Result<T, InvokeError> {
        let session = session(&self.session, current)?;
        Ok(run(match self.which {
            Which::Categories => &session.filter.categories,
            Which::AdapterIds => &session.filter.adapter_ids,
        }))
    }
}

impl StringSet for FilterStrings {
    async fn add(&self, additions: StringSeq, current: &Current) -> Result<(), InvokeError> {
        self.with(current, |set| set.add(additions))
    }

    async fn remove(&self, deletions: StringSeq, current: &Current) -> Result<(), InvokeError> {
        self.with(current, |set| set.remove(deletions))
    }

    async fn get(&self, current: &Current) -> Result<StringSeq, InvokeError> {
        self.with(current, |set| set.content())
    }
}

/// The set of identities of a session.
struct FilterIdentities(Weak<Session>);

impl IdentitySet for FilterIdentities {
    async fn add(&self, additions: IdentitySeq, current: &Current) -> Result<(), InvokeError> {
        session(&self.0, current)?.filter.identities.add(additions);
        Ok(())
    }

    async fn remove(&self, deletions: IdentitySeq, current: &Current) -> Result<(), InvokeError> {
        let session = session(&self.0, current)?;
        session.filter.identities.remove(deletions);
        Ok(())
    }

    async fn get(&self, current: &Current) -> Result<IdentitySeq, InvokeError> {
        Ok(session(&self.0, current)?.filter.identities.content())
    }
}
