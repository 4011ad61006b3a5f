//! Signals that ask a program to end.

use std::io;

/// The signals SIGINT (Ctrl-C) and SIGTERM, one after another. On Windows, Ctrl-C alone.
///
/// From its creation on, they no longer end the program by themselves.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

impl Signals {
    /// Starts to listen for signals. Call it inside the runtime.
    ///
    /// # Errors
    /// The system does not deliver signals.
    #[cfg(unix)]
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal, and returns its name. It may be cancelled without losing a
    /// signal.
    #[cfg(unix)]
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }

    /// Starts to listen for signals. Call it inside the runtime.
    ///
    /// # Errors
    /// The system does not deliver signals.
    #[cfg(windows)]
    pub fn new() -> io::Result<Self> {
        let interrupt = tokio::signal::windows::ctrl_c()?;
        Ok(Self { interrupt })
    }

    /// Waits for the next signal, and returns its name. It may be cancelled without losing a
    /// signal.
    #[cfg(windows)]
    pub async fn next(&mut self) -> &'static str {
        let _ = self.interrupt.recv().await;
        "Ctrl-C"
    }
}
