//! How a client gets a session: a verifier checks its credentials, and a session manager may create its session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use floe::codegen::Nilable;
use floe::contracts::glacier2::{
    CannotCreateSessionException, PermissionDeniedException, SessionControlProxy, SessionProxy,
    SslInfo,
};
use floe::encoding::Encoder;
use floe::{
    Connection, Context, Current, EncodingVersion, OperationMode, Proxy, Reference, TypedProxy,
    UserException,
};

use floe_access::{Caller, Users};

use super::account::AccountFull;
use super::application::{self, ApplicationCall, Failure};
use super::connection_context as context;
use super::guard;
use super::keyed_lock::TooManyWait;
use super::overload::overloaded;
use super::protection::LoginPermit;
use super::router::is_stream;
use super::server_link::Origin;
use super::session::{NewSession, Session, SessionClient};
use super::session_control;
use super::sessions::{NoSession, Sessions};
use super::shares::Owner;
use crate::core::TooManyAttempts;
use crate::settings::{CertificateVerifier, ConnectionContext, PasswordVerifier};

/// Credentials of a client.
pub(super) enum Credentials {
    Password { user: String, password: String },
    Certificate,
}

/// Why a client gets no session.
#[derive(Debug)]
pub(super) enum Refusal {
    Denied(String),
    CannotCreate(String),
    /// An exception of the application, encoded.
    Passed(Bytes),
}

/// For the log: a text that a peer has chosen is escaped, so that it cannot forge a line.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(reason) => write!(f, "permission denied: {reason:?}"),
            Self::CannotCreate(reason) => write!(f, "no session can be created: {reason:?}"),
            Self::Passed(exception) => match application::type_id(exception) {
                Ok(type_id) => write!(f, "the application threw {type_id:?}"),
                Err(error) => write!(f, "the application threw an unreadable exception: {error}"),
            },
        }
    }
}

impl From<NoSession> for Refusal {
    fn from(reason: NoSession) -> Self {
        Self::CannotCreate(reason.reason())
    }
}

/// Creates a session for the client of this request. Returns the application's session, if there is one.
pub(super) async fn create(
    sessions: &Arc<Sessions>,
    current: &Current,
    credentials: Credentials,
) -> Result<Option<SessionProxy>, Refusal> {
    let Some(connection) = current.connection() else {
        return Err(NoSession::ConnectionClosed.into());
    };
    if !is_stream(&connection) {
        sessions.counters.logins_refused.add(1);
        return Err(Refusal::CannotCreate(
            "expected a login over a connection, got one in a datagram".to_owned(),
        ));
    }
    let address = connection.info().remote_network();
    let login = Login {
        sessions,
        origin: Arc::new(Origin {
            address,
            connections: sessions.connections.share(address),
        }),
        context: context_for_application(sessions, current, &connection),
        encoding: current.encoding(),
        connection,
    };
    let created = login.run(credentials).await;
    if let Err(refusal) = &created {
        sessions.counters.logins_refused.add(1);
        tracing::info!("no session for {}: {refusal}", current.peer());
    }
    created
}

/// The context of the client's call, with information about its connection if the settings ask for it.
fn context_for_application(
    sessions: &Sessions,
    current: &Current,
    connection: &Connection,
) -> Context {
    let mut context = context::without_forged(current.context());
    if sessions.settings.connection_context != ConnectionContext::Off {
        context.extend(context::entries(&connection.info()));
    }
    context
}

struct Login<'a> {
    sessions: &'a Arc<Sessions>,
    connection: Connection,
    origin: Arc<Origin>,
    /// The context of calls to the application.
    context: Context,
    encoding: EncodingVersion,
}

impl Login<'_> {
    async fn run(&self, credentials: Credentials) -> Result<Option<SessionProxy>, Refusal> {
        let lock = self
            .sessions
            .login_locks
            .acquire(&self.connection, LOGINS_MAX)
            .await;
        let _lock = lock.map_err(|TooManyWait| {
            let text = format!(
                "{LOGINS_MAX} logins wait on this connection already: wait for the answer of one"
            );
            Refusal::CannotCreate(overloaded(&text))
        })?;
        self.sessions.check(&self.connection)?;
        let info = self.connection.info();
        match credentials {
            Credentials::Password { user, password } => {
                if user.len() > USER_LEN_MAX {
                    return Err(Refusal::CannotCreate(format!(
                        "expected a user's name of at most {USER_LEN_MAX} bytes, got {}",
                        user.len()
                    )));
                }
                let is_verified = self.try_password(&user, &password).await?;
                let caller = guard::caller(&info, is_verified.then_some(user.as_str()));
                let category = self.sessions.settings.filter.accept_user_category.of(&user);
                let manager = self.sessions.settings.session_manager.as_ref();
                let owner = Owner {
                    user: self.sessions.protection.key(&user),
                    is_proven: is_verified,
                };
                let parameter = |encoder: &mut Encoder<'_>| encoder.string(&user);
                self.make(user.clone(), owner, caller, category, manager, parameter)
                    .await
            }
            Credentials::Certificate => {
                let ssl_info = self.check_certificate().await?;
                let user = format!("the client with a certificate at {}", info.peer);
                let caller = guard::caller(&info, None);
                let subject = caller.certificate.as_ref().map(ToString::to_string);
                let owner = Owner {
                    user: self
                        .sessions
                        .protection
                        .key(subject.as_ref().unwrap_or(&user)),
                    is_proven: true,
                };
                let manager = self.sessions.settings.certificate_session_manager.as_ref();
                let parameter = |encoder: &mut Encoder<'_>| encoder.put(&ssl_info);
                self.make(user, owner, caller, None, manager, parameter)
                    .await
            }
        }
    }

    /// Checks a password as [`Self::check_password`] does, with a permit of the user and the address. Waits before that if
    /// earlier attempts have failed.
    async fn try_password(&self, user: &str, password: &str) -> Result<bool, Refusal> {
        let protection = &self.sessions.protection;
        let address = self.origin.address;
        let permit = async {
            loop {
                let wait = protection.login_wait(user, address);
                // Even a sleep of no time ends with the timer's next tick, a millisecond later.
                if wait != Ok(Duration::ZERO) {
                    self.sessions.counters.logins_slowed.add(1);
                    let wait = wait.map_err(|TooManyAttempts| {
                        let text = "too many login attempts from this address";
                        Refusal::CannotCreate(overloaded(text))
                    })?;
                    tokio::time::sleep(wait).await;
                    return Ok(protection.login_permit(user, address).await);
                }
                let permit = protection.login_permit(user, address).await;
                // Others may have failed meanwhile.
                if !protection.is_slow(user, address) {
                    return Ok::<_, Refusal>(permit);
                }
            }
        };
        let _permit = self.unless_closed(permit).await??;
        let checked = self.check_password(user, password).await;
        // A verifier that fails says nothing about the password.
        let is_verdict = match &checked {
            Ok(_) | Err(Refusal::Passed(_)) => true,
            Err(Refusal::Denied(reason)) => reason != INTERNAL_ERROR,
            Err(Refusal::CannotCreate(_)) => false,
        };
        if is_verdict {
            protection.note_login(user, address, checked.is_ok());
        }
        checked
    }

    /// Checks a password. Returns whether it proves the user's name: where all passwords are accepted, it does not.
    async fn check_password(&self, user: &str, password: &str) -> Result<bool, Refusal> {
        match &self.sessions.settings.password_verifier {
            None => Err(Refusal::Denied(
                "no configured permissions verifier".to_owned(),
            )),
            Some(PasswordVerifier::AcceptAll) => Ok(false),
            Some(PasswordVerifier::Users(users)) => {
                let thread = self.sessions.protection.thread(self.origin.address);
                let thread = self.unless_closed(thread).await?;
                verified(users.clone(), user.to_owned(), password.to_owned(), thread).await?;
                Ok(true)
            }
            Some(PasswordVerifier::Proxy(verifier)) => {
                let operation = "checkPermissions";
                self.call_verifier(verifier, operation, |encoder| {
                    encoder.string(user);
                    encoder.string(password);
                })
                .await?;
                Ok(true)
            }
        }
    }

    /// Waits for a future, unless the connection is closed: then no client needs its result any more.
    async fn unless_closed<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            () = self.connection.closed() => Err(NoSession::ConnectionClosed.into()),
            value = waiting => Ok(value),
        }
    }

    async fn check_certificate(&self) -> Result<SslInfo, Refusal> {
        let Some(verifier) = &self.sessions.settings.certificate_verifier else {
            return Err(Refusal::Denied(
                "no configured ssl permissions verifier".to_owned(),
            ));
        };
        let info = self.connection.info();
        if info.cipher.is_none() {
            return Err(Refusal::Denied("not ssl connection".to_owned()));
        }
        if info.peer_certificates.is_empty() {
            return Err(Refusal::Denied("certificate not verified".to_owned()));
        }
        let info = context::ssl_info(&info);
        match verifier {
            CertificateVerifier::AcceptAll => Ok(info),
            CertificateVerifier::Proxy(verifier) => {
                let parameter = |encoder: &mut Encoder<'_>| encoder.put(&info);
                self.call_verifier(verifier, "authorize", parameter).await?;
                Ok(info)
            }
        }
    }

    async fn call_verifier(
        &self,
        verifier: &Reference,
        operation: &str,
        parameters: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), Refusal> {
        let call = ApplicationCall {
            proxy: self.application(verifier),
            origin: &self.origin,
            operation,
            // Source: observed, glacier2router 3.7.8.
            mode: OperationMode::Nonmutating,
            encoding: self.encoding,
            exception: PermissionDeniedException::TYPE_ID,
        };
        let asked = call.invoke(parameters, |decoder| {
            let reason: String = decoder.get()?;
            let is_granted: bool = decoder.get()?;
            Ok((is_granted, reason))
        });
        match asked.await {
            Ok((true, _)) => Ok(()),
            Ok((false, reason)) if reason.is_empty() => {
                Err(Refusal::Denied(PERMISSION_DENIED.to_owned()))
            }
            Ok((false, reason)) => Err(Refusal::Denied(reason)),
            Err(Failure::Refused(exception)) => Err(Refusal::Passed(exception)),
            Err(Failure::Overloaded(reason)) => Err(Refusal::CannotCreate(reason)),
            Err(Failure::Failed(reason)) => {
                tracing::warn!("the permissions verifier {verifier} gave no answer: {reason:?}");
                Err(Refusal::Denied(INTERNAL_ERROR.to_owned()))
            }
        }
    }

    /// Creates the session, and asks the session manager for the application's session if there is a manager.
    async fn make(
        &self,
        user: String,
        owner: Owner,
        caller: Caller,
        user_category: Option<String>,
        manager: Option<&Reference>,
        parameter: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Option<SessionProxy>, Refusal> {
        let sessions = self.sessions;
        sessions
            .guard
            .check_login(&caller)
            .map_err(Refusal::Denied)?;
        let connection_entries = entries(sessions, &self.connection);
        let address = self.origin.address;
        let rates = sessions
            .protection
            .rates(owner.user, address, &sessions.settings);
        let session = Session::new(NewSession {
            user,
            owner,
            rates,
            memory: sessions.memory.share(address),
            origin: self.origin.clone(),
            client: SessionClient {
                connection: self.connection.clone(),
                caller,
                network: address,
                connection_entries,
            },
            user_category,
            category: sessions.server_adapter.as_ref().map(|_| random_category()),
            settings: &sessions.settings,
            counters: &sessions.counters,
            tasks: &sessions.tasks,
        });
        let session = session.map_err(|AccountFull| {
            sessions.counters.memory_full.add(1);
            NoSession::NoMemory
        })?;
        let made = match manager {
            Some(manager) => self.call_manager(manager, &session, parameter).await,
            None => Ok(None),
        };
        let inserted = made.and_then(|application| {
            if let Some(application) = &application {
                // This cannot fail, because it is set only here.
                let _ = session.application.set(application.clone());
            }
            sessions.insert(&session)?;
            // The rules may have changed since the first check, before the session was among those that they end.
            let checked = sessions.guard.check_login(&session.client().caller);
            checked.map_err(Refusal::Denied)?;
            Ok(application)
        });
        if inserted.is_err() {
            sessions.end(&session, "it was refused");
        }
        inserted
    }

    async fn call_manager(
        &self,
        manager: &Reference,
        session: &Arc<Session>,
        parameter: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Option<SessionProxy>, Refusal> {
        let control = session_control::register(self.sessions, session);
        let call = ApplicationCall {
            proxy: self.application(manager),
            origin: &self.origin,
            operation: "create",
            mode: OperationMode::Normal,
            encoding: self.encoding,
            exception: CannotCreateSessionException::TYPE_ID,
        };
        let parameters = |encoder: &mut Encoder<'_>| {
            parameter(encoder);
            SessionControlProxy::encode_nilable(control.as_ref(), encoder);
        };
        let asked = call.invoke(parameters, |decoder| decoder.get::<Option<Proxy>>());
        match asked.await {
            Ok(application) => {
                let application = application.map(|application| {
                    let own = self.application(application.reference());
                    SessionProxy::from_proxy(own)
                });
                Ok(application)
            }
            Err(Failure::Refused(exception)) => Err(Refusal::Passed(exception)),
            Err(Failure::Overloaded(reason)) => Err(Refusal::CannotCreate(reason)),
            Err(Failure::Failed(reason)) => {
                tracing::warn!("the session manager {manager} gave no session: {reason:?}");
                Err(Refusal::CannotCreate(INTERNAL_ERROR.to_owned()))
            }
        }
    }

    /// A proxy to an object of the application. Its calls carry the login's context.
    fn application(&self, reference: &Reference) -> Proxy {
        let proxy = self.sessions.application_proxy(reference);
        proxy.ice_context(self.context.clone())
    }
}

/// The context entries about a connection that servers get.
pub(super) fn entries(sessions: &Sessions, connection: &Connection) -> Context {
    match sessions.settings.connection_context {
        ConnectionContext::All => context::entries(&connection.info()),
        _ => Context::new(),
    }
}

/// Verifies a password on a thread for blocking work, because this takes milliseconds. The thread is in use until it has ended,
/// even if nothing waits for it any more.
async fn verified(
    users: Users,
    user: String,
    password: String,
    thread: LoginPermit,
) -> Result<(), Refusal> {
    let verifying = tokio::task::spawn_blocking(move || {
        let _thread = thread;
        users.verify(&user, password.as_bytes())
    });
    match verifying.await {
        Ok(true) => Ok(()),
        _ => Err(Refusal::Denied(PERMISSION_DENIED.to_owned())),
    }
}

/// The maximum number of logins on one connection at a time. After the first success all others fail, so no program
/// needs many. A login that waits takes ten kilobytes.
const LOGINS_MAX: usize = 8;
/// The largest length of a user's name, in bytes. Names are kept for as long as the sessions, and logged.
const USER_LEN_MAX: usize = 1024;
/// The reason that the client gets if the verifier refuses it and gives none.
const PERMISSION_DENIED: &str = "permission denied";
/// The reason that the client gets if the application fails.
const INTERNAL_ERROR: &str = "internal server error";

/// A new category of random characters without blanks, which cannot be guessed.
fn random_category() -> String {
    const LEN: usize = 20;
    const FIRST: u8 = 33;
    const COUNT: u8 = 94;
    let mut category = String::with_capacity(LEN);
    while category.len() < LEN {
        let [byte] = random();
        // Without this bound, some characters would be more likely than others.
        if byte < u8::MAX / COUNT * COUNT {
            category.push(char::from(FIRST + byte % COUNT));
        }
    }
    category
}

/// Random bytes of the system.
pub(super) fn random<const LEN: usize>() -> [u8; LEN] {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_has_twenty_characters_and_no_two_are_the_same() {
        let categories: std::collections::HashSet<_> =
            (0..100).map(|_| random_category()).collect();
        assert_eq!(categories.len(), 100);
        for category in categories {
            assert_eq!(category.len(), 20);
            assert!(category.bytes().all(|byte| (33..=126).contains(&byte)));
        }
    }

    #[test]
    fn a_refusal_stays_on_its_line_of_the_log() {
        let text = "no\nINFO joe has a session\u{1b}[2K".to_owned();
        for refusal in [Refusal::Denied(text.clone()), Refusal::CannotCreate(text)] {
            let shown = refusal.to_string();
            assert!(!shown.contains(char::is_control), "{shown:?}");
        }
        let passed = Refusal::Passed(Bytes::from_static(b"\n\x1b")).to_string();
        assert!(!passed.contains(char::is_control), "{passed:?}");
    }
}
