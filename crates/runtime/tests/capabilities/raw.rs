//! Bytes to a server, without a runtime in between.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::Server;

/// A message header with this type and size.
pub(crate) fn header(kind: u8, size: i32) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00".to_vec();
    bytes.extend([kind, 0]);
    bytes.extend(size.to_le_bytes());
    bytes
}

/// Sends bytes to a server and waits until it has closed the connection.
pub(crate) async fn send_and_wait(server: &Server, bytes: &[u8]) {
    let port = server.adapter.endpoints()[0].port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut validate = [0; 14];
    stream.read_exact(&mut validate).await.unwrap();
    // The server may close while we still write.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}
