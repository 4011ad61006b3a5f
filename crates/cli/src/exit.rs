//! How the command ends: exit codes as a type, and failures that lead to one.

use std::fmt;
use std::io;
use std::process::ExitCode;

use floe::{InvokeError, LocalError, SystemException};
use floe_server::{Fault, ServerError};

use crate::endpoint::readable;
use crate::output;

/// The exit code, as a script reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what was asked.
    Success = 0,
    /// It failed in a way that no other code names.
    Failure = 1,
    /// The arguments, the JSON, the bytes or a named file are invalid.
    Usage = 2,
    /// The time was over.
    TimedOut = 3,
    /// The other side has no such object, facet, operation or topic.
    NotFound = 4,
    /// Nothing listens at the address, or the peer declined.
    Refused = 5,
    /// Events were lost.
    LossDetected = 6,
    /// Slice files have errors, a check of them has findings, `floe doctor` or `floe status --exit-code` has found a
    /// problem, or `floe lab compare` a regression.
    Findings = 100,
    /// A signal ended it before it was done.
    Interrupted = 130,
}

/// The exit codes for `floe --help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  it did what was asked
    1  it failed: an exception, a broken connection, an unknown host, a port in use
    2  arguments, JSON, bytes or named files are invalid
    3  the time was over (--timeout)
    4  no such object, facet, operation or topic
    5  nothing listens there, or the peer declined (the topic exists already)
    6  events were lost
  100  findings: Slice files have errors, floe doctor or floe status --exit-code
       found a problem, or a run of the lab is worse than another
  130  interrupted before it was done";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a subcommand failed: a message for people, an exit code for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// Lower case, no full stop; empty if there is nobody to tell or all was said.
    message: String,
    /// Advice on what to do about it.
    help: Option<String>,
    /// Nothing could be sent, for there was no connection.
    is_unreachable: bool,
    /// The other side has answered that it failed.
    is_answer: bool,
    /// There is no connection, or it broke, or nothing came over it in time.
    is_of_connection: bool,
    /// The other side has no object of this identity.
    is_missing_object: bool,
    /// The rules of the other side refuse what was asked.
    is_access_refusal: bool,
}

impl Failure {
    /// A failure with a message.
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            // What a peer reports may be a whole stack trace, with a line end.
            message: readable(message.to_string().trim_end()),
            help: None,
            is_unreachable: false,
            is_answer: false,
            is_of_connection: false,
            is_missing_object: false,
            is_access_refusal: false,
        }
    }

    /// A failure about which everything was said already.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// Arguments that make no sense.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something that the other side does not have.
    pub(crate) fn not_found(message: impl fmt::Display) -> Self {
        Self::new(Exit::NotFound, message)
    }

    /// Says what to do.
    #[must_use]
    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Adds to what was said of what to do.
    #[must_use]
    pub(crate) fn further_help(self, further: &str) -> Self {
        match self.help.clone() {
            Some(help) => self.help(format_args!("{help}; {further}")),
            None => self.help(further),
        }
    }

    /// Names the peer that answered that it failed, instead of any servant or server.
    #[must_use]
    pub(crate) fn reported_by(mut self, peer: impl fmt::Display) -> Self {
        let rest = ["the servant", "the server"]
            .iter()
            .find_map(|it| self.message.strip_prefix(it));
        match rest {
            Some(rest) => {
                self.message = format!("{peer}{rest}");
                self
            }
            None => self.when(format_args!("{peer} failed")),
        }
    }

    /// Says in front of the message what failed.
    #[must_use]
    pub(crate) fn when(mut self, what: impl fmt::Display) -> Self {
        if !self.message.is_empty() {
            self.message = format!("{what}: {}", self.message);
        }
        self
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the problem, without the advice.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Advice on what to do about it.
    pub(crate) fn what_to_do(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns true if nothing could be sent, for there was no connection.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.is_unreachable
    }

    /// Returns true if the other side has answered that it failed.
    pub(crate) fn is_answer(&self) -> bool {
        self.is_answer
    }

    /// Returns true if the other side has answered that its rules refuse what was asked.
    pub(crate) fn is_access_refusal(&self) -> bool {
        self.is_access_refusal
    }

    /// Returns true if the other side has answered that it has no such object.
    pub(crate) fn is_missing_object(&self) -> bool {
        self.is_missing_object
    }

    /// Returns true if the same command may succeed later: there is no connection, or it broke, or nothing came
    /// over it in time.
    pub(crate) fn is_of_connection(&self) -> bool {
        self.is_of_connection
    }

    /// Says on standard error what went wrong.
    pub(crate) fn report(&self) {
        if self.message.is_empty() {
            return;
        }
        let message = output::shown_in_talk(&self.message);
        output::talk(format_args!("floe: error: {message}"));
        if let Some(help) = &self.help {
            output::talk(format_args!("  help: {}", output::shown_in_talk(help)));
        }
    }
}

/// The message and what to do, for a log.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl From<InvokeError> for Failure {
    fn from(error: InvokeError) -> Self {
        if let Some(refusal) = access_refusal(&error) {
            let mut failure = Self::new(Exit::Refused, refusal).help(ACCESS_HELP);
            (failure.is_answer, failure.is_access_refusal) = (true, true);
            return failure;
        }
        let exit = exit_of(&error);
        let mut failure = Self::new(exit, &error);
        failure.is_unreachable = is_unreachable(&error);
        failure.is_answer = matches!(error, InvokeError::System(_));
        failure.is_missing_object = matches!(
            error,
            InvokeError::System(SystemException::ObjectNotExist(_))
        );
        let tls_help = tls_help(&failure.message).filter(|_| !failure.is_answer);
        failure.is_of_connection =
            is_of_connection(&error) && (tls_help.is_none() || is_cut_off(&error));
        match &error {
            _ if needs_certificates(&error) => {
                failure.exit = Exit::Usage;
                failure.help("--tls-ca FILE names the CAs to trust, and --tls-cert FILE this program's certificate")
            }
            _ if tls_help.is_some() => {
                // Somebody listens there.
                failure.is_unreachable = false;
                failure.help = tls_help.map(str::to_owned);
                failure
            }
            InvokeError::NotDispatched(LocalError::NoEndpoint { wanted, .. })
                if wanted.contains("`Settings::locator`") =>
            {
                failure.help("--locator PROXY names a locator")
            }
            _ if failure.is_unreachable && error.is_timeout() => failure.help(
                "nothing answers there: is the server's adapter activated, and is its transport the same?",
            ),
            _ if failure.is_unreachable => {
                failure.help("is the server running, and does it listen there?")
            }
            _ if failure.is_missing_object => failure.help(
                "is this the identity of the object, in the same case, and the right server?",
            ),
            InvokeError::System(SystemException::FacetNotExist(failed)) => failure.help(format_args!(
                "the object exists, and has no facet `{}`: omit --facet for the object itself",
                failed.facet
            )),
            InvokeError::System(SystemException::OperationNotExist(_)) => failure.help(
                "does the object have the interface that you expect? `floe call PROXY ice_ids` shows its interfaces",
            ),
            _ => failure,
        }
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        let failure = match error.fault() {
            Fault::Settings => Self::usage(error.message()),
            _ => Self::new(Exit::Failure, error.message()),
        };
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

/// Written to a pipe that nobody reads any more: that is how `head` says that it has enough.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::silent(Exit::Success),
            _ => Self::new(
                Exit::Failure,
                format_args!("cannot write standard output: {error}"),
            ),
        }
    }
}

/// Advice if rules refuse the request.
const ACCESS_HELP: &str = "a token in FLOE_TOKEN or a certificate (--tls-cert) says who you are, as does --user with \
                           --router; `floe access check USER ACTION TOPIC`, run with the floe.toml of the hub or gateway, \
                           shows which rule decides";

/// The refusal, if the other side has answered that its rules refuse what was asked.
fn access_refusal(error: &InvokeError) -> Option<&str> {
    match error {
        InvokeError::System(SystemException::UnknownException(text)) => text
            .starts_with(floe_access::ACCESS_REFUSED)
            .then_some(text),
        _ => None,
    }
}

fn exit_of(error: &InvokeError) -> Exit {
    if error.is_timeout() {
        return Exit::TimedOut;
    }
    match error {
        InvokeError::System(
            SystemException::ObjectNotExist(_)
            | SystemException::FacetNotExist(_)
            | SystemException::OperationNotExist(_),
        ) => Exit::NotFound,
        _ if access_refusal(error).is_some() => Exit::Refused,
        InvokeError::NotDispatched(LocalError::NotRegistered { .. }) => Exit::NotFound,
        InvokeError::NotDispatched(LocalError::Locator { source, .. }) => exit_of(source),
        InvokeError::NotDispatched(error) if is_refused(error) => Exit::Refused,
        InvokeError::NotDispatched(LocalError::NoEndpoint { .. }) => Exit::Usage,
        _ => Exit::Failure,
    }
}

/// Returns true if nothing was sent, for we have no certificates to go by.
fn needs_certificates(error: &InvokeError) -> bool {
    matches!(error, InvokeError::NotDispatched(LocalError::Connect { endpoint, source })
        if source.kind() == io::ErrorKind::InvalidInput
            && (endpoint.starts_with("ssl") || endpoint.starts_with("wss")))
}

/// Returns advice if this message says that encryption failed: the library names its own settings.
fn tls_help(message: &str) -> Option<&'static str> {
    const ARGUMENTS: [(&str, &str); 3] = [
        ("`TlsSettings::ca_files`", "--tls-ca FILE names the CA"),
        (
            "`TlsSettings::identity`",
            "--tls-cert FILE and --tls-key FILE name this program's certificate and key",
        ),
        (
            "`TlsSettings::check_host`",
            "--tls-any-host accepts it all the same",
        ),
    ];
    let found = ARGUMENTS
        .iter()
        .find(|(setting, _)| message.contains(setting));
    let help = found.map(|(_, help)| *help);
    let is_of_tls = message.contains("certificate") || message.contains("TLS");
    help.or(is_of_tls
        .then_some("`floe --help` lists the options for certificates, --tls-ca and others"))
}

fn is_unreachable(error: &InvokeError) -> bool {
    match error {
        InvokeError::NotDispatched(LocalError::BatchLost { source, .. }) => {
            matches!(**source, LocalError::Connect { .. })
        }
        InvokeError::NotDispatched(error) => matches!(
            error,
            LocalError::Connect { .. } | LocalError::Timeout { .. }
        ),
        _ => false,
    }
}

fn is_of_connection(error: &InvokeError) -> bool {
    match error {
        InvokeError::NotDispatched(error) | InvokeError::PerhapsDispatched(error) => matches!(
            error,
            LocalError::Connect { .. }
                | LocalError::ConnectTimeout { .. }
                | LocalError::ConnectionLost { .. }
                | LocalError::ClosedByPeer { .. }
                | LocalError::Timeout { .. }
        ),
        _ => false,
    }
}

/// Returns true if the other side ended while it was being connected to.
fn is_cut_off(error: &InvokeError) -> bool {
    matches!(error, InvokeError::NotDispatched(LocalError::Connect { source, .. })
        if source.kind() == io::ErrorKind::UnexpectedEof)
}

fn is_refused(error: &LocalError) -> bool {
    match error {
        LocalError::Connect { source, .. } => source.kind() == io::ErrorKind::ConnectionRefused,
        LocalError::BatchLost { source, .. } => is_refused(source),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use floe::message::RequestFailed;

    use super::*;

    fn exit(error: InvokeError) -> Exit {
        Failure::from(error).exit()
    }

    fn connect(kind: io::ErrorKind) -> InvokeError {
        InvokeError::NotDispatched(LocalError::Connect {
            endpoint: "tcp -p 1".into(),
            source: Arc::new(kind.into()),
        })
    }

    #[test]
    fn what_is_missing_at_the_peer_is_not_found() {
        let failed = RequestFailed::default;
        for exception in [
            SystemException::ObjectNotExist(failed()),
            SystemException::FacetNotExist(failed()),
            SystemException::OperationNotExist(failed()),
        ] {
            assert_eq!(exit(exception.into()), Exit::NotFound);
        }
        let unknown = SystemException::UnknownException("x".into());
        assert_eq!(exit(unknown.into()), Exit::Failure);
    }

    #[test]
    fn a_refusal_by_rules_is_told_as_it_came() {
        let text = "access refused: anonymous may not create (topic \"t\")";
        let error = InvokeError::from(SystemException::UnknownException(text.into()));
        let failure = Failure::from(error);
        assert_eq!((failure.exit(), failure.message()), (Exit::Refused, text));
        assert!(failure.is_access_refusal() && !failure.is_of_connection());
        let help = failure.what_to_do().expect("it has help");
        assert!(help.contains("floe access check USER ACTION TOPIC"));
        assert!(help.contains("FLOE_TOKEN"));
    }

    #[test]
    fn only_a_refused_connection_is_refused() {
        assert_eq!(
            exit(connect(io::ErrorKind::ConnectionRefused)),
            Exit::Refused
        );
        assert_eq!(exit(connect(io::ErrorKind::HostUnreachable)), Exit::Failure);
    }

    #[test]
    fn a_timeout_is_one_wherever_it_struck() {
        let timeout = || LocalError::Timeout {
            operation: "o".into(),
            after: Duration::ZERO,
        };
        assert_eq!(exit(InvokeError::NotDispatched(timeout())), Exit::TimedOut);
        assert_eq!(
            exit(InvokeError::PerhapsDispatched(timeout())),
            Exit::TimedOut
        );
    }

    #[test]
    fn what_is_wrong_with_certificates_is_told_with_the_options_of_the_command() {
        let text =
            "got one for b: connect to a host that it names, or turn `TlsSettings::check_host` off";
        let failure = Failure::from(InvokeError::NotDispatched(LocalError::Connect {
            endpoint: "ssl -p 1".into(),
            source: Arc::new(io::Error::new(io::ErrorKind::InvalidData, text)),
        }));
        assert!(!failure.is_unreachable());
        assert_eq!(
            failure.help.as_deref(),
            Some("--tls-any-host accepts it all the same")
        );
    }

    #[test]
    fn what_is_of_the_connection_may_pass_and_a_refusal_does_not() {
        let of_tls = |kind| {
            InvokeError::NotDispatched(LocalError::Connect {
                endpoint: "ssl -p 1".into(),
                source: Arc::new(io::Error::new(kind, "in the middle of the TLS handshake")),
            })
        };
        let lost = InvokeError::PerhapsDispatched(LocalError::ConnectionLost {
            peer: "tcp -p 1".into(),
            reason: "reset".into(),
        });
        let refused = connect(io::ErrorKind::ConnectionRefused);
        for error in [lost, refused, of_tls(io::ErrorKind::UnexpectedEof)] {
            assert!(Failure::from(error.clone()).is_of_connection(), "{error}");
        }
        let missing = SystemException::ObjectNotExist(RequestFailed::default());
        for error in [missing.into(), of_tls(io::ErrorKind::InvalidData)] {
            assert!(!Failure::from(error.clone()).is_of_connection(), "{error}");
        }
    }

    #[test]
    fn a_reader_that_has_enough_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(
            (failure.exit(), failure.message.as_str()),
            (Exit::Success, "")
        );
    }
}
