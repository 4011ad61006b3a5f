//! A router as an argument, and the session with it.
//!
//! - `router/password.rs`: where the password comes from

mod password;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use floe::contracts::glacier2::{CannotCreateSessionOrPermissionDeniedError, RouterProxy};
use floe::contracts::ice::{RouterFinderProxy, RouterProxy as PlainRouterProxy};
use floe::settings::Heartbeats;
use floe::{Adapter, Communicator, Connection, Reference, Settings, TypedProxy};

use floe_gateway::ResumableSession;

use crate::context;
use crate::endpoint;
use crate::exit::{Exit, Failure};

/// The router that requests go through.
#[derive(Debug, Clone, Args)]
pub(crate) struct RouterArguments {
    /// Goes through this gateway or Glacier2: HOST, HOST:PORT, an endpoint, or the proxy of its router
    /// [default: the router of the context]
    #[arg(long, value_name = "PROXY", value_parser = parse)]
    router: Option<Reference>,

    /// The user for whom the router makes a session. FLOE_PASSWORD has the password, or else a terminal
    /// is asked. Without a user, the certificate of --tls-cert gets the session
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    user: Option<String>,

    /// A file whose first line is the password of --user
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// A router, and the credentials for a session with it.
#[derive(Debug)]
pub(crate) struct Login {
    router: Reference,
    /// The user and the password. `None` for a certificate.
    credentials: Option<(String, String)>,
}

/// A session with a router.
#[derive(Debug)]
pub(crate) struct Session {
    router: RouterProxy,
    connection: Connection,
    /// If the router is a gateway of Floe, the session survives a lost connection.
    resumable: Option<ResumableSession>,
}

impl RouterArguments {
    /// The router that is named here or in the context, with the password of its user.
    ///
    /// # Errors
    /// There is no password, or a certificate would be needed.
    pub(crate) fn login(&self) -> Result<Option<Login>, Failure> {
        let Self {
            router,
            user,
            password_file,
        } = self.with_context()?;
        let Some(router) = router else {
            return match (user, password_file) {
                (Some(_), _) => Err(incomplete("--user", "--router")),
                (None, Some(_)) => Err(incomplete("--password-file", "--router and --user")),
                (None, None) => Ok(None),
            };
        };
        let credentials = match user {
            Some(user) => {
                let password = password::of(&user, password_file.as_deref())?;
                Some((user, password))
            }
            None if password_file.is_some() => {
                return Err(incomplete("--password-file", "--user"));
            }
            None if crate::tls::said().cert.is_some() => None,
            None => {
                let message =
                    "expected --user or a certificate for the session with the router, got neither";
                return Err(Failure::usage(message)
                    .help("--user NAME with a password, or --tls-cert and --tls-key"));
            }
        };
        Ok(Some(Login {
            router,
            credentials,
        }))
    }

    /// These arguments, with what the context has if they name no router. A password of the context is for its user.
    fn with_context(&self) -> Result<Self, Failure> {
        let context = context::chosen().filter(|_| self.router.is_none());
        let router = context.and_then(|chosen| chosen.context.router.as_deref());
        let (Some(chosen), Some(router)) = (context, router) else {
            return Ok(self.clone());
        };
        let router = parse(router).map_err(|wrong| {
            Failure::usage(format_args!("context `{}`: router: {wrong}", chosen.name))
        })?;
        let context = &chosen.context;
        let file = context.password_file.as_ref();
        let file = file.filter(|_| self.user.is_none()).map(PathBuf::from);
        Ok(Self {
            router: Some(router),
            user: self.user.clone().or_else(|| context.user.clone()),
            password_file: self.password_file.clone().or(file),
        })
    }
}

/// An option that is of no use without others.
fn incomplete(option: &str, missing: &str) -> Failure {
    let failure = Failure::usage(format_args!("expected {missing} with {option}, got none"));
    failure
        .help("`floe context add NAME --router HOST --user NAME` says both once for all commands")
}

impl Login {
    /// Has all requests of a communicator with these settings go through the router.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        settings.router = Some(self.router.clone());
    }

    /// Says so if there is a router of another name. A router closes the connection of a client that calls anything else before
    /// it has a session, and does not execute the call. Its finder can be asked all the same.
    async fn other_name(&self, communicator: &Communicator) -> Option<Failure> {
        let asked = communicator
            .proxy_from(self.router.clone())
            .ice_router(None)
            .ice_connection_id("finder")
            .ice_identity(FINDER.parse().ok()?);
        let finder = RouterFinderProxy::from_proxy(asked);
        let found = tokio::time::timeout(FAREWELL_PATIENCE, async { finder.get_router().await });
        let found = found.await.ok()?.ok()?;
        let (name, wanted) = (
            &found.as_proxy().reference().identity,
            &self.router.identity,
        );
        (name != wanted).then(|| {
            Failure::not_found(format_args!(
                "there is no router `{wanted}`: the router there is `{name}`"
            ))
            .help(format_args!("--router '{name}:ENDPOINT' names it, as does the endpoint alone if it is `Glacier2/router`"))
        })
    }

    /// Creates the session.
    ///
    /// # Errors
    /// The router refuses it, or does not answer.
    pub(crate) async fn open(&self, communicator: &Communicator) -> Result<Session, Failure> {
        let router = communicator.proxy_from(self.router.clone());
        let router = RouterProxy::from_proxy(router.ice_router(None));
        let connection = router.ice_connection().await.map_err(unanswered)?;
        let connection = connection.ok_or_else(|| {
            Failure::usage("expected a router in another process, got one in this process")
        })?;
        let created = match &self.credentials {
            Some((user, password)) => router.create_session(user, password).await,
            None => router.create_session_from_secure_connection().await,
        };
        match created {
            Ok(_) => {}
            Err(CannotCreateSessionOrPermissionDeniedError::Invoke(error)) => {
                let other = self.other_name(communicator).await;
                return Err(other.unwrap_or_else(|| unanswered(error)));
            }
            Err(error) => {
                return Err(Failure::new(
                    Exit::Refused,
                    format_args!("the router makes no session: {error}"),
                ));
            }
        }
        // A router may drop a client that is silent for longer, as Ice 3.7 tells its clients.
        let patience = router.get_acm_timeout().await.map_err(unanswered)?;
        if let Ok(patience @ 1..) = u64::try_from(patience) {
            let mut liveness = connection.liveness();
            let interval = Duration::from_secs(patience) / 2;
            liveness.heartbeats = Heartbeats::Always;
            liveness.heartbeat_interval = liveness.heartbeat_interval.min(interval);
            connection.set_liveness(liveness);
        }
        Ok(Session {
            router,
            connection,
            resumable: None,
        })
    }
}

impl Session {
    /// Returns true if the session is lost for good. One that can be resumed is known to be lost when
    /// [`lost`](Self::lost) returns.
    pub(crate) fn is_lost(&self) -> bool {
        self.resumable.is_none() && !self.connection.is_active()
    }

    /// Waits until the session is lost, and says so.
    pub(crate) async fn lost(&self) -> Failure {
        match &self.resumable {
            Some(resumable) => drop(resumable.lost().await),
            None => self.connection.closed().await,
        }
        Failure::new(Exit::Refused, "lost the router, and the session with it")
            .help("is the router running? If it has ended the session, its log says why")
    }

    /// Makes the session survive a lost connection, if the router can do that. A Glacier2 cannot.
    pub(crate) async fn survive(&mut self, communicator: &Communicator) {
        let opened = ResumableSession::open(communicator, &self.router, GRACE).await;
        self.resumable = opened
            .inspect_err(|error| tracing::debug!("the session ends with its connection: {error}"))
            .ok();
    }

    /// An adapter that is called through the router, and the category that its objects must have.
    ///
    /// # Errors
    /// The router forwards no calls to clients, or does not answer.
    pub(crate) async fn adapter(
        &self,
        communicator: &Communicator,
    ) -> Result<(Adapter, String), Failure> {
        let adapter = match &self.resumable {
            Some(resumable) => {
                let adapter = resumable.adapter().await;
                adapter.map_err(|error| Failure::new(Exit::Failure, error))?
            }
            None => {
                let plain = PlainRouterProxy::from(self.router.clone());
                let adapter = communicator.adapter_with_router(&plain).await;
                adapter.map_err(|error| Failure::new(Exit::Failure, error))?
            }
        };
        let category = self.router.get_category_for_client().await;
        Ok((adapter, category.map_err(unanswered)?))
    }

    /// Ends the session. A router that does not answer ends it when the connection closes.
    pub(crate) async fn end(&self) {
        let _ = tokio::time::timeout(FAREWELL_PATIENCE, async {
            self.router.destroy_session().await
        })
        .await;
    }
}

/// The object of which a client asks which router there is.
const FINDER: &str = "Ice/RouterFinder";

/// How long a session may wait for this command to come back.
const GRACE: Duration = Duration::from_secs(20);

/// How long a router may take to end a session.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(3);

fn unanswered(error: floe::InvokeError) -> Failure {
    Failure::from(error).when("the router")
}

/// The proxy of a router. An endpoint alone is that of a router with the default name.
fn parse(text: &str) -> Result<Reference, String> {
    let full = endpoint::full(text, Some(ROUTER_PORT));
    let full = match endpoint::is_endpoint(&full) {
        true => format!("Glacier2/router:{full}"),
        false => endpoint::full_proxy(&full).into_owned(),
    };
    match full.parse::<Reference>() {
        Ok(reference) if !reference.endpoints().is_empty() => Ok(reference),
        Ok(_) => Err(format!("expected {WHAT}, got `{text}`")),
        Err(error) => Err(format!("expected {WHAT}, got `{text}`: {error}")),
    }
}

/// Checks a router as [`parse`] does, and returns its text.
///
/// # Errors
/// It is no router, or has no endpoints.
pub(crate) fn parse_text(text: &str) -> Result<String, String> {
    parse(text).map(|_| text.to_owned())
}

const WHAT: &str = "a router with its endpoints, such as gateway.example:4063 or \
                    'Glacier2/router:ssl -h gateway.example -p 4064'";

/// The port that is registered for routers of Ice.
const ROUTER_PORT: u16 = 4063;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_named_by_a_host_an_endpoint_or_a_proxy() {
        for (text, expected) in [
            (
                "gate",
                "Glacier2/router -t -e 1.1:tcp -h gate -p 4063 -t 60000",
            ),
            (
                "gate:1",
                "Glacier2/router -t -e 1.1:tcp -h gate -p 1 -t 60000",
            ),
            (
                "ssl -h gate -p 4064",
                "Glacier2/router -t -e 1.1:ssl -h gate -p 4064 -t 60000",
            ),
            (
                "Mine/router:gate:1",
                "Mine/router -t -e 1.1:tcp -h gate -p 1 -t 60000",
            ),
        ] {
            assert_eq!(parse(text).expect(text).to_string(), expected);
        }
        for wrong in ["Glacier2/router", "Glacier2/router @ a", ""] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(&format!("got `{wrong}`")), "{error}");
        }
    }
}
