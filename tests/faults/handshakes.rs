//! A thousand bad handshakes: a few lines and a count, no memory, no descriptors, and nobody else harmed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use floe::Communicator;

use crate::log::Log;
use crate::raw::{Came, Raw, request};
use crate::stage::{Echo, Face, Server, descriptor_count, ms, settings, until};

const COUNT: usize = 1000;

/// Beginnings that none of our servers expects.
const BAD: [&[u8]; 5] = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xff\xff\xff",
    b"IceP\x01\x00\x01\x00\x00\x00\x0e\x00\x00\x00",
    b"SSH-2.0-OpenSSH_9.6\r\n",
    b"",
];

/// Sends a bad beginning, and waits until the server has closed.
fn knock(port: u16, bytes: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes
        .expect("Linux")
        .parse::<usize>()
        .expect("a number")
        * 1024
}

#[test]
fn a_thousand_are_counted_and_each_second_has_few_lines() {
    for transport in ["ssl", "ws", "wss"] {
        // All that the server does, it does on this thread; so its log is this thread's.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (log, _guard) = Log::of_thread();
        runtime.block_on(async {
            let communicator =
                Communicator::with_settings(crate::certificates::with_tls(settings()));
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
            let adapter = communicator.adapter(&endpoint).await.unwrap();
            adapter.add("echo", Echo::new()).unwrap();
            adapter.activate();
            let port = adapter.endpoints()[0].port().unwrap();
            tokio::task::spawn_blocking(move || {
                for round in 0..COUNT {
                    knock(port, BAD[round % BAD.len()]);
                }
            })
            .await
            .unwrap();
            while adapter.counts().handshakes_failed < COUNT as u64 {
                tokio::time::sleep(ms(5)).await;
            }
            // The last count is told when its second is over.
            let told = |log: &Log| -> (usize, usize, usize) {
                let lines = log.lines();
                let single =
                    |line: &&String| line.starts_with("refused a connection from 127.0.0.1:");
                let single_count = lines.iter().filter(single).count();
                let counts = lines.iter().filter_map(|line| {
                    let rest = "more warnings about peers came in that second; only the first 20 of \
                                a second are logged one by one";
                    line.strip_suffix(rest)?.trim().parse::<usize>().ok()
                });
                (
                    lines.len(),
                    single_count,
                    single_count + counts.sum::<usize>(),
                )
            };
            let begun = std::time::Instant::now();
            while told(&log).2 < COUNT {
                assert!(begun.elapsed() < crate::stage::PATIENCE, "{:?}", told(&log));
                tokio::time::sleep(ms(20)).await;
            }
            let (line_count, single_count, all) = told(&log);
            assert_eq!(all, COUNT, "each is logged or counted, once");
            assert!(
                single_count < COUNT,
                "{single_count} lines for {COUNT} connections"
            );
            assert!(line_count <= COUNT);
            // The same server, and those who know how.
            let direct = format!("echo:{}", adapter.endpoints()[0]);
            let client = Communicator::with_settings(crate::certificates::with_tls(settings()));
            let proxy: floe::Proxy = client.proxy(&direct).unwrap();
            proxy
                .invoke("echo", floe::OperationMode::Normal, &crate::stage::NOTHING)
                .await
                .unwrap();
        });
    }
}

#[test]
fn a_thousand_leave_no_descriptors_and_no_memory_behind() {
    for face in Face::both() {
        for transport in ["tcp", "ssl", "ws"] {
            let settings = crate::certificates::with_tls(settings());
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0:tcp -h 127.0.0.1 -p 0");
            let server = Server::start(&face, settings, &endpoint);
            let mut bystander = Raw::connect(server.adapter.endpoints()[1].port().unwrap());
            knock(server.port(), BAD[0]);
            let (memory, descriptors) = (resident_bytes(), descriptor_count());
            for round in 0..COUNT {
                knock(server.port(), BAD[round % BAD.len()]);
            }
            until("only the bystander is left", || {
                server.adapter.counts().connections == 1
            });
            // Other tests of this process open some meanwhile.
            until("the descriptors are back", || {
                descriptor_count() < descriptors + 200
            });
            let growth = resident_bytes().saturating_sub(memory);
            assert!(
                growth < 64 << 20,
                "{COUNT} bad handshakes took {growth} bytes"
            );
            bystander.send(&request(1, "echo"));
            assert_eq!(bystander.next_but_heartbeats(), Came::Reply(1));
        }
    }
}
