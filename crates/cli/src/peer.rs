//! Runs a task against a peer, with the arguments that all such subcommands share.

use std::future::Future;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;
use floe::reference::Target;
use floe::{AdapterError, Communicator, Endpoint, Proxy, Settings, Signals, TypedProxy};
use floe_server::ServerError;
use tokio::runtime::{Builder, Runtime};

pub(crate) use floe_server::values::{parse_time, parse_time_or_none};

use crate::endpoint::HUB_PORT;
use crate::exit::{Exit, Failure};
use crate::router::Login;
use crate::{endpoint, locator, tls, token};

/// How long to wait for a peer.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TimeoutArgument {
    /// How long to wait for an answer, such as 500ms, 5s or 2m. 0 means no limit
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    timeout: Duration,
}

impl TimeoutArgument {
    /// The limit; none for 0.
    pub(crate) fn limit(self) -> Option<Duration> {
        (!self.timeout.is_zero()).then_some(self.timeout)
    }
}

/// Runs something that asks others, and ends its communicator in order. A signal ends it before.
///
/// # Errors
/// Those of what runs.
pub(crate) fn run<F, R>(timeout: TimeoutArgument, what: F) -> Result<Exit, Failure>
where
    F: FnOnce(Communicator) -> R,
    R: Future<Output = Result<Exit, Failure>>,
{
    run_through(None, timeout, what)
}

/// As [`run`], through a router if one is named.
///
/// # Errors
/// As [`run`], and those of the session with the router.
pub(crate) fn run_through<F, R>(
    login: Option<Login>,
    timeout: TimeoutArgument,
    what: F,
) -> Result<Exit, Failure>
where
    F: FnOnce(Communicator) -> R,
    R: Future<Output = Result<Exit, Failure>>,
{
    run_with(runtime()?, asking_settings(timeout.limit()), login, what)
}

/// As [`run_through`], in this runtime and with these settings.
///
/// # Errors
/// As [`run_through`].
pub(crate) fn run_with<F, R>(
    runtime: Runtime,
    mut settings: Settings,
    login: Option<Login>,
    what: F,
) -> Result<Exit, Failure>
where
    F: FnOnce(Communicator) -> R,
    R: Future<Output = Result<Exit, Failure>>,
{
    if let Some(login) = &login {
        login.apply(&mut settings);
    }
    let result = runtime.block_on(async {
        let mut signals = signals()?;
        let communicator = Communicator::with_settings(settings);
        token::show(&communicator);
        let result = tokio::select! {
            result = within_session(login, &communicator, what) => result,
            _ = signals.next() => Ok(Exit::Interrupted),
        };
        end(&communicator, &result).await;
        result
    });
    // A look-up of a host name that nobody waits for any more may take long.
    runtime.shutdown_background();
    result
}

/// Runs something within a session with a router, if one is named.
async fn within_session<F, R>(
    login: Option<Login>,
    communicator: &Communicator,
    what: F,
) -> Result<Exit, Failure>
where
    F: FnOnce(Communicator) -> R,
    R: Future<Output = Result<Exit, Failure>>,
{
    let Some(login) = login else {
        return what(communicator.clone()).await;
    };
    let session = login.open(communicator).await?;
    let result = tokio::select! {
        result = what(communicator.clone()) => result,
        failure = session.lost() => return Err(failure),
    };
    session.end().await;
    result
}

/// Ends the communicator in order, unless whoever waits has waited long enough.
pub(crate) async fn end(communicator: &Communicator, result: &Result<Exit, Failure>) {
    let exit = match result {
        Ok(exit) => *exit,
        Err(failure) => failure.exit(),
    };
    if !matches!(exit, Exit::TimedOut | Exit::Interrupted) {
        communicator.shutdown().await;
    }
}

/// The async runtime of a subcommand.
///
/// # Errors
/// If the system has no threads left.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    built(Builder::new_multi_thread())
}

/// Makes a runtime with this many threads.
///
/// # Errors
/// If the system has no threads left.
pub(crate) fn runtime_of_threads(count: NonZeroUsize) -> Result<Runtime, Failure> {
    if count.get() == 1 {
        return runtime_of_one_thread();
    }
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count.get());
    built(builder)
}

/// A runtime in which no request is handed from one thread to another.
///
/// # Errors
/// If the system has no descriptors left.
pub(crate) fn runtime_of_one_thread() -> Result<Runtime, Failure> {
    built(Builder::new_current_thread())
}

fn built(mut builder: Builder) -> Result<Runtime, Failure> {
    let runtime = builder.enable_all().build();
    runtime
        .map_err(|error| Failure::new(Exit::Failure, format_args!("cannot start threads: {error}")))
}

/// A communicator to ask others with.
pub(crate) fn communicator(timeout: Option<Duration>) -> Communicator {
    communicator_through(None, timeout)
}

/// The same, through a router if one is named.
pub(crate) fn communicator_through(
    login: Option<&Login>,
    timeout: Option<Duration>,
) -> Communicator {
    let mut settings = asking_settings(timeout);
    if let Some(login) = login {
        login.apply(&mut settings);
    }
    let communicator = Communicator::with_settings(settings);
    token::show(&communicator);
    communicator
}

/// Settings to ask others with: longer answers are taken than a server takes requests.
pub(crate) fn asking_settings(timeout: Option<Duration>) -> Settings {
    let mut settings = settings(timeout);
    settings.message_size_max = ANSWER_SIZE_MAX;
    settings
}

/// Settings that do not make people wait.
pub(crate) fn settings(timeout: Option<Duration>) -> Settings {
    let mut settings = Settings::default();
    settings.invocation_timeout = timeout;
    if let Some(timeout) = timeout {
        settings.connect_timeout = settings.connect_timeout.min(timeout);
    }
    settings.close_timeout = Duration::from_secs(1);
    settings.tls = tls::loaded();
    settings.locator = locator::named();
    settings
}

/// The largest message that is taken from a server that was asked something: 256 MiB.
pub(crate) const ANSWER_SIZE_MAX: usize = 256 * 1024 * 1024;

/// A proxy from an argument.
///
/// # Errors
/// Text that is no proxy, or one that says not where the object is.
pub(crate) fn proxy<P: TypedProxy>(communicator: &Communicator, text: &str) -> Result<P, Failure> {
    if let Some(mistake) = endpoint::mistake_in_proxy(text) {
        return Err(Failure::usage(mistake));
    }
    let text = &*endpoint::full_proxy(text);
    let proxy: Proxy = communicator.proxy(text).map_err(|error| {
        let failure = Failure::usage(format_args!("`{text}` is no proxy: {error}"));
        let is_address = text
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        match endpoint::lacks_port(text) {
            true if is_address => failure.help(format_args!(
                "name the object before its address: `IDENTITY:{text}`"
            )),
            true => failure.help(format_args!("add the port of the server: `{text}:PORT`")),
            false => failure.help(
                "a proxy is written `greeter:tcp -h localhost -p 4061`, or `greeter:localhost:4061`",
            ),
        }
    })?;
    check_endpoints(&proxy, text)?;
    Ok(P::from_proxy(proxy))
}

/// Without a locator, only endpoints tell where an object is; nobody can connect to port 0.
fn check_endpoints(proxy: &Proxy, text: &str) -> Result<(), Failure> {
    let reference = proxy.reference();
    let has_no_port = |endpoint: &Endpoint| endpoint.port() == Some(0);
    match (&reference.target, reference.endpoints()) {
        (Target::WellKnown, _) if locator::named().is_none() => Err(Failure::usage(format_args!(
            "`{text}` has no usable endpoint"
        ))
        .help(format_args!(
            "write `{}:tcp -h HOST -p PORT`, or name a locator with --locator",
            reference.identity
        ))),
        (_, endpoints) if !endpoints.is_empty() && endpoints.iter().all(has_no_port) => {
            let message = format!("the endpoint of `{text}` has no port");
            Err(Failure::usage(message).help("add -p PORT"))
        }
        _ => Ok(()),
    }
}

/// Turns a failure to listen into a failure of the command.
pub(crate) fn not_listening(error: &AdapterError) -> Failure {
    ServerError::from(error).into()
}

/// The text of an endpoint, which is not empty; what it means is told when it is opened. A host alone is one
/// with the port of a hub.
pub(crate) fn parse_endpoint(text: &str) -> Result<String, String> {
    endpoint_at(text, HUB_PORT)
}

/// Parses the text of an endpoint. A host alone means any free port of it.
pub(crate) fn parse_own_endpoint(text: &str) -> Result<String, String> {
    endpoint_at(text, 0)
}

/// Parses the text of an endpoint. A host alone means this port of it.
pub(crate) fn endpoint_at(text: &str, port: u16) -> Result<String, String> {
    match text.trim().is_empty() {
        true => {
            Err("expected an endpoint, such as 'tcp -h 127.0.0.1 -p 10000', got nothing".to_owned())
        }
        false => match endpoint::mistake(text) {
            Some(mistake) => Err(mistake),
            None => Ok(endpoint::full(text, Some(port)).into_owned()),
        },
    }
}

/// Starts to listen for the signals that ask a program to end. Must be called inside the runtime.
///
/// # Errors
/// The system does not hand signals out.
pub(crate) fn signals() -> Result<Signals, Failure> {
    Signals::new().map_err(|error| {
        Failure::new(
            Exit::Failure,
            format_args!("cannot wait for signals: {error}"),
        )
    })
}
