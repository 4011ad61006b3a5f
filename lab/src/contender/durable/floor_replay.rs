//! The machine's own limit for a replay: a file is read and relayed over a bare socket that carries as many bytes as Floe's messages
//! have.
//!
//! What a hub must do to each event, the relay does as well: a fresh request with an id of its own around the event as it was stored.
//! The subscriber answers each request; all answers to one read leave in one write. There is no window: the relay sends as long as the
//! socket takes bytes, and another thread counts the answers.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Instant;

use super::floor::{EVENT_LEN, RECORD_LEN};
use super::page_cache::drop_from_memory;
use super::publishing::rate_of;
use crate::contender::Failure;
use crate::contender::events::announce_service;
use crate::contender::events::daemon::scratch;

/// Bytes of a request before the event: header 14, id 4, the identity `journal` 9, facet 1.
const HEAD_LEN: usize = 28;
/// Where the id stands in a request, and in a reply.
const ID_START: usize = 14;
/// Bytes of a request.
const REQUEST_LEN: usize = HEAD_LEN + EVENT_LEN;
/// Bytes of a reply without results: header 14, id 4, status 1, results 6.
const REPLY_LEN: usize = 25;
/// Bytes that are read at a time.
const PIECE_LEN: usize = 256 * 1024;

/// Writes the file, and relays it to the first that connects.
pub(super) fn serve(count: u64) -> Result<(), Failure> {
    let path = scratch("floor");
    write_records(&path, count)?;
    drop_from_memory(&path)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    announce_service(&listener.local_addr()?.to_string(), std::process::id())?;
    let (stream, _) = listener.accept()?;
    let answers = stream.try_clone()?;
    let counting = thread::spawn(move || count_answers(answers, count));
    relay(&path, stream)?;
    counting.join().map_err(|_| "the count panicked")??;
    loop {
        thread::park();
    }
}

fn write_records(path: &Path, count: u64) -> Result<(), Failure> {
    let mut file = File::create(path)?;
    let records = vec![0xA5; PIECE_LEN / RECORD_LEN * RECORD_LEN];
    let mut left = count as usize * RECORD_LEN;
    while left > 0 {
        let len = left.min(records.len());
        file.write_all(&records[..len])?;
        left -= len;
    }
    Ok(())
}

fn relay(path: &Path, mut stream: TcpStream) -> Result<(), Failure> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE_LEN];
    let mut requests = Vec::with_capacity(PIECE_LEN);
    let (mut kept, mut id) = (0, 0_u32);
    loop {
        let len = kept + file.read(&mut piece[kept..])?;
        if len == kept {
            return Ok(());
        }
        let records = piece[..len].chunks_exact(RECORD_LEN);
        let rest = records.remainder().len();
        requests.clear();
        for record in records {
            id += 1;
            let start = requests.len();
            requests.extend_from_slice(&[0; HEAD_LEN]);
            requests[start + ID_START..][..4].copy_from_slice(&id.to_le_bytes());
            requests.extend_from_slice(&record[RECORD_LEN - EVENT_LEN..]);
        }
        stream.write_all(&requests)?;
        piece.copy_within(len - rest..len, 0);
        kept = rest;
    }
}

fn count_answers(mut stream: TcpStream, count: u64) -> Result<(), Failure> {
    let mut piece = vec![0; PIECE_LEN];
    let mut left = count as usize * REPLY_LEN;
    while left > 0 {
        match stream.read(&mut piece)? {
            0 => return Err("the subscriber ended too early".into()),
            len => left = left.saturating_sub(len),
        }
    }
    Ok(())
}

/// Reads so many requests and answers each. Returns how many came in a second.
pub(super) fn replay(count: u64, address: &str) -> Result<f64, Failure> {
    let started = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    let mut piece = vec![0; PIECE_LEN];
    let mut replies = Vec::new();
    let (mut kept, mut left) = (0, count);
    while left > 0 {
        let len = match stream.read(&mut piece[kept..])? {
            0 => return Err(format!("{left} events did not come").into()),
            read => kept + read,
        };
        let requests = piece[..len].chunks_exact(REQUEST_LEN);
        let rest = requests.remainder().len();
        replies.clear();
        for request in requests {
            let start = replies.len();
            replies.extend_from_slice(&[0; REPLY_LEN]);
            replies[start + ID_START..][..4].copy_from_slice(&request[ID_START..][..4]);
            left -= 1;
        }
        stream.write_all(&replies)?;
        piece.copy_within(len - rest..len, 0);
        kept = rest;
    }
    Ok(rate_of(count, started))
}
