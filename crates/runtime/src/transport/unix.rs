//! The transport `unix`: Unix domain sockets, in half the time of TCP between programs on one host.
//!
//! A path is valid only in the file system of its host, so a published endpoint also names the host. Other hosts skip
//! the endpoint.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::task::{Context, Poll};

use floe_wire::reference::{Endpoint, UnixEndpoint};
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};

use super::ConnectionInfo;
use super::{Accepted, Listener, Listening, ListeningPlace, Pending, Stream, StreamWriter};

/// Returns true if the endpoint is a socket of this host.
pub(super) fn is_here(endpoint: &UnixEndpoint) -> bool {
    endpoint.host.is_empty() || endpoint.host == this_host()
}

/// Connects to a socket of this host.
pub(super) async fn connect(endpoint: &UnixEndpoint) -> io::Result<Stream> {
    let stream = UnixStream::connect(&endpoint.path)
        .await
        .map_err(|error| explain_path(&endpoint.path, error))?;
    Ok(into_stream(stream, endpoint.path.clone()))
}

/// Listens at a path. A stale socket, left behind by a server that has ended, is replaced; the socket of a running
/// server is not.
pub(super) async fn listen(endpoint: &UnixEndpoint, mode: Option<u32>) -> io::Result<Listening> {
    // Peers may run in another working directory.
    let path = std::path::absolute(&endpoint.path)?;
    let listener = match bind(&path, mode) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            remove_stale(&path).await?;
            bind(&path, mode)
        }
        bound => bound,
    };
    let listener = listener.map_err(|error| explain_path(&endpoint.path, error))?;
    let inode = fs::metadata(&path)?.ino();
    let published = Endpoint::Unix(UnixEndpoint {
        path: path.display().to_string(),
        host: this_host().to_owned(),
        ..endpoint.clone()
    });
    Ok(Listening {
        listeners: vec![Box::new(BoundFile {
            listener,
            path,
            inode,
        })],
        published: vec![published],
    })
}

/// Listens. The file gets its mode before clients can connect.
fn bind(path: &Path, mode: Option<u32>) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    if let Some(mode) = mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    socket.listen(BACKLOG)?;
    UnixListener::from_std(socket.into())
}

/// Connections that the system may queue before we accept them.
const BACKLOG: i32 = 1024;

struct BoundFile {
    listener: UnixListener,
    path: PathBuf,
    /// Distinguishes our socket from a later one at the same path.
    inode: u64,
}

impl Listener for BoundFile {
    fn accept(&self) -> Pending<'_, Accepted> {
        Box::pin(async move {
            let (stream, _) = self.listener.accept().await?;
            // A client's socket has no address of its own.
            let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
            let process = process.map(|id| format!(" (process {id})"));
            let peer = format!("{}{}", self.path.display(), process.unwrap_or_default());
            Ok(Accepted::Ready(into_stream(stream, peer)))
        })
    }

    fn place(&self) -> Option<ListeningPlace> {
        Some(ListeningPlace::File(self.path.clone()))
    }
}

impl Drop for BoundFile {
    fn drop(&mut self) {
        if fs::metadata(&self.path).is_ok_and(|file| file.ino() == self.inode) {
            // This fails only if the file was removed meanwhile.
            let _ = fs::remove_file(&self.path);
        }
    }
}

struct UnixWriter(OwnedWriteHalf);

impl StreamWriter for UnixWriter {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn try_write_vectored(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(slices)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_ref().poll_write_ready(context)
    }

    fn shutdown(&self) {
        // This fails only if the stream has already ended.
        let _ = SockRef::from(self.0.as_ref()).shutdown(std::net::Shutdown::Both);
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        info.transport = "unix";
    }

    fn plain_socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(std::os::fd::AsFd::as_fd(self.0.as_ref()))
    }

    fn detach(self: Box<Self>) {
        self.0.forget();
    }
}

fn into_stream(stream: UnixStream, peer: String) -> Stream {
    let (reader, writer) = stream.into_split();
    Stream {
        reader: Box::new(reader),
        writer: Box::new(UnixWriter(writer)),
        peer,
    }
}

/// Removes a socket that has no listener.
async fn remove_stale(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        let what = format!("{} already exists and is not a socket", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => {
            let what = format!("another server listens at {}", path.display());
            Err(io::Error::new(io::ErrorKind::AddrInUse, what))
        }
    }
}

fn explain_path(path: &str, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidInput => io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the path of a socket has at most {PATH_LEN_MAX} bytes, got {}",
                path.len()
            ),
        ),
        _ => error,
    }
}

/// Longest path of a socket in bytes on Linux. Other systems allow a little less.
const PATH_LEN_MAX: usize = 107;

/// Returns an identifier of this host that is valid until its next boot; empty if the system has none.
fn this_host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        id.map(|id| id.trim().to_owned()).unwrap_or_default()
    })
}
