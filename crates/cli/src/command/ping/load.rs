//! The operation that `floe ping` calls, and the meaning of its failures.

use floe::{InvokeError, LocalError, Proxy, SystemException, TypedProxy};

use crate::contracts::floe::EchoProxy;
use crate::exit::{Exit, Failure};
use crate::size::Size;

/// A call to measure.
#[derive(Debug)]
pub(super) enum Load {
    /// `ice_ping`.
    Ping,
    /// So many numbers there and back.
    Echo {
        values: Vec<f64>,
        /// The value that came back last.
        answer: Vec<f64>,
    },
}

impl Load {
    /// A call with nothing in it.
    pub(super) fn ping() -> Self {
        Self::Ping
    }

    /// A call with so many bytes of doubles, and as many in its answer.
    pub(super) fn echo(size: Size) -> Self {
        let values = (0..size.bytes() / size_of::<f64>()).map(|index| index as f64 + 0.5);
        Self::Echo {
            values: values.collect(),
            answer: Vec::new(),
        }
    }

    /// Returns the size of the parameter.
    pub(super) fn size(&self) -> Size {
        Size::of(match self {
            Self::Ping => 0,
            Self::Echo { values, .. } => size_of_val(values.as_slice()),
        })
    }

    /// Makes the call, and waits for its answer.
    pub(super) async fn call(&mut self, proxy: &Proxy) -> Result<(), Failure> {
        let size = self.size();
        match self {
            Self::Ping => proxy.ice_ping().await.map_err(Failure::from),
            Self::Echo { values, answer } => {
                let echo = EchoProxy::from_proxy(proxy.clone());
                let echoed = echo.doubles(values).await;
                *answer = echoed.map_err(|error| explained(error, size))?;
                Ok(())
            }
        }
    }

    /// Checks what came back; not part of the time.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Echo { values, answer } if answer != values => {
                let message = format!(
                    "expected the {} doubles that were sent, got {} others",
                    values.len(),
                    answer.len()
                );
                Err(Failure::new(Exit::Failure, message).help(CONTRACT_HELP))
            }
            _ => Ok(()),
        }
    }
}

/// A failure of `doubles`, with what to do about it.
fn explained(error: InvokeError, size: Size) -> Failure {
    let is_lost = matches!(
        &error,
        InvokeError::NotDispatched(lost) | InvokeError::PerhapsDispatched(lost)
            if matches!(lost, LocalError::ConnectionLost { .. } | LocalError::ClosedByPeer { .. })
    );
    let is_other = matches!(
        &error,
        InvokeError::BadReply(_) | InvokeError::System(SystemException::OperationNotExist(_))
    );
    let failure = Failure::from(error);
    match (is_lost, is_other) {
        (true, _) if size >= LIMIT_MIN => failure
            .when(format_args!("a call with {size}"))
            .help(LENGTH_HELP),
        (_, true) => failure.help(CONTRACT_HELP),
        _ => failure,
    }
}

/// The smallest limit that Ice can set to the length of messages.
const LIMIT_MIN: Size = Size::of(1024);

const CONTRACT_HELP: &str = "--sizes needs an object with the operation `sequence<double> \
                             doubles(sequence<double> values)`, as in contracts/Floe/Echo.ice; `floe \
                             echo` serves one";

const LENGTH_HELP: &str = "a peer drops a connection with messages longer than it takes: \
                           Ice.MessageSizeMax of an Ice peer, in kilobytes and 1024 unless set; \
                           --max-size of `floe echo`; Settings::message_size_max of a Floe program";
