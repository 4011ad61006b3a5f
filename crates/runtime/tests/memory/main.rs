//! The memory that hostile peers may cost. The tests measure this process, so they run one at a time
//! and in a process of their own.

#[expect(
    dead_code,
    reason = "shared with the capabilities; these tests need a part of it"
)]
#[path = "../capabilities/echo.rs"]
mod echo;
#[path = "../capabilities/raw.rs"]
mod raw;

use floe::TypedProxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use echo::{Server, soon};
use raw::{header, send_and_wait};

/// Held by the test that measures.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A small random number generator (xorshift): the same bytes in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// A good request `ice_ping` to the object `echo`.
fn ping() -> Vec<u8> {
    let mut bytes = header(0, 0);
    bytes.extend([1, 0, 0, 0, 4]);
    bytes.extend(b"echo\x00\x00\x08ice_ping\x02\x00\x06\x00\x00\x00\x01\x01");
    let size = bytes.len() as i32;
    bytes[10..14].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    status("VmRSS:")
}

/// The most that it ever was.
fn peak() -> usize {
    status("VmHWM:")
}

fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .expect(name);
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<usize>().expect("a number") * 1024
}

#[tokio::test]
async fn truncated_flipped_and_random_messages_leave_the_server_as_it_was() {
    let _alone = ALONE.lock().await;
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    soon(proxy.ice_ping()).await.unwrap();
    let mut random = Random(0x0F10_E5EE_D000_0001);
    let before = resident();
    for round in 0..600 {
        let mut bytes = ping();
        match round % 3 {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => {
                let position = random.below(bytes.len());
                bytes[position] ^= 1 << random.below(8);
            }
            _ => {
                for byte in bytes.iter_mut().skip(random.below(20)) {
                    *byte = random.next() as u8;
                }
            }
        }
        soon(send_and_wait(&server, &bytes)).await;
    }
    proxy.ice_ping().await.unwrap();
    let growth = resident().saturating_sub(before);
    assert!(growth < 32 << 20, "600 bad messages took {growth} bytes");
}

#[tokio::test]
async fn a_header_that_promises_much_reserves_little() {
    let _alone = ALONE.lock().await;
    let server = Server::start().await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let before = resident();
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(&header(0, 1024 * 1024)).await.unwrap();
        let mut validate = [0; 14];
        stream.read_exact(&mut validate).await.unwrap();
        streams.push(stream);
    }
    soon(server.proxy("echo").ice_ping()).await.unwrap();
    let growth = resident().saturating_sub(before);
    assert!(
        growth < 32 << 20,
        "200 headers of 1 MiB took {growth} bytes"
    );
}

#[tokio::test]
async fn bombs_take_memory_one_after_another() {
    let _alone = ALONE.lock().await;
    let server = Server::start().await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    // A good oneway request of 1 MB, which compresses to next to nothing.
    let mut bomb = header(0, 0);
    bomb.extend([0, 0, 0, 0, 4]);
    bomb.extend(b"echo\x00\x00\x04echo\x00\x00");
    bomb.extend(echo::encapsulation(&vec![0; 1_000_000]));
    let size = bomb.len() as i32;
    bomb[10..14].copy_from_slice(&size.to_le_bytes());
    let compressor = floe_wire::compression::Compressor::new(floe::settings::Compression::Zstd);
    compressor.compress(&mut bomb, 0);
    assert!(bomb.len() < 200, "{} bytes", bomb.len());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let before = peak();
    // More than a thousand of them fit into one read.
    soon(stream.write_all(&bomb.repeat(1000))).await.unwrap();
    let echo_count = || {
        server
            .echo
            .echo_count
            .load(std::sync::atomic::Ordering::SeqCst)
    };
    soon(async {
        while echo_count() < 1000 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let growth = peak() - before;
    assert!(growth < 64 << 20, "1,000 bombs of 1 MB took {growth} bytes");
}
