//! Notifies the service manager of the state of the hub, if it asks for that, as systemd does with `Type=notify`.
//!
//! Source: sd_notify(3): datagrams to the Unix socket that `NOTIFY_SOCKET` names; a name that begins with `@` is
//! abstract.

/// A state of the service that its manager is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    /// It serves.
    Ready,
    /// It has begun to end.
    Stopping,
}

/// Reports the state to the service manager. Does nothing without one, as when the hub is started by hand.
#[cfg(unix)]
pub(crate) fn notify(state: State) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
        return;
    };
    let text: &[u8] = match state {
        State::Ready => b"READY=1",
        State::Stopping => b"STOPPING=1",
    };
    if let Err(error) = send(&name, text) {
        tracing::warn!("cannot tell the service manager, which waits: {error}");
    }
}

#[cfg(not(unix))]
pub(crate) fn notify(_state: State) {}

#[cfg(unix)]
fn send(name: &std::ffi::OsStr, text: &[u8]) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let address = match name.as_bytes() {
        #[cfg(target_os = "linux")]
        [b'@', rest @ ..] => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(rest)?
        }
        _ => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(text, &address)?;
    Ok(())
}
