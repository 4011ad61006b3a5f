//! Services that are programs of others: started, heard until they are ready, and surely ended.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::announce_service;
use crate::contender::Failure;

/// A running service. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts it, with nothing to read.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> Result<Self, Failure> {
        command.stdin(Stdio::null());
        let child = command.spawn();
        let child = child.map_err(|error| format!("cannot start {command:?}: {error}"))?;
        Ok(Self { child })
    }

    /// The first line of its piped output in which `find` finds something. The rest is read and ignored.
    ///
    /// # Errors
    /// There is none until it ends; then the output is in the error.
    pub(crate) fn hear<T>(
        output: impl Read + Send + 'static,
        mut find: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        let mut output = BufReader::new(output);
        let mut heard = String::new();
        loop {
            let start = heard.len();
            if output.read_line(&mut heard)? == 0 {
                return Err(format!("the service ended, and said: {heard}").into());
            }
            if let Some(found) = find(heard[start..].trim_end()) {
                // It must not wait for room in a pipe.
                std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
                return Ok(found);
            }
        }
    }

    /// Takes its standard output, if that is a pipe and was not taken before.
    pub(crate) fn stdout(&mut self) -> Result<impl Read + Send + use<>, Failure> {
        self.child
            .stdout
            .take()
            .ok_or_else(|| "its output is not piped".into())
    }

    /// Takes its standard error, if that is a pipe and was not taken before.
    pub(crate) fn stderr(&mut self) -> Result<impl Read + Send + use<>, Failure> {
        self.child
            .stderr
            .take()
            .ok_or_else(|| "its errors are not piped".into())
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until somebody listens on the port.
    ///
    /// # Errors
    /// Nobody does in time, or the service has ended.
    pub(crate) fn wait_for_port(&mut self, port: u16) -> Result<(), Failure> {
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the service ended: {status}").into());
            }
            if Instant::now() > deadline {
                return Err(format!("expected the service on port {port}, got nobody").into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Says where it is reached, and lives until stdin ends.
    pub(crate) fn serve(mut self, address: &str) -> Result<(), Failure> {
        announce_service(address, self.child.id())?;
        let mut ignored = Vec::new();
        // A broken stdin is as good as an ended one.
        let _ = std::io::stdin().read_to_end(&mut ignored);
        match self.child.try_wait()? {
            Some(status) => Err(format!("the service ended by itself: {status}").into()),
            None => Ok(()),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both can only fail if it has ended by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port of loopback that was free a moment ago, for services that cannot choose one.
pub(crate) fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// A file or folder of this process in the folder that the lab gives to each process and removes with all that is in it.
pub(crate) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(name)
}

/// How long a service may take to start, on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_is_heard_until_it_is_ready() {
        let ready = |line: &str| line.strip_prefix("ready ").map(str::to_owned);
        let output = std::io::Cursor::new("starting\nready here\nmore\n");
        assert_eq!(Daemon::hear(output, ready).unwrap(), "here");
        let output = std::io::Cursor::new("no such option\n");
        let error = Daemon::hear(output, ready).unwrap_err().to_string();
        assert_eq!(error, "the service ended, and said: no such option\n");
    }

    #[test]
    fn a_service_that_ends_is_not_waited_for() {
        let mut daemon = Daemon::start(&mut Command::new("true")).unwrap();
        let error = daemon.wait_for_port(free_port().unwrap()).unwrap_err();
        assert!(error.to_string().contains("the service ended"), "{error}");
    }
}
