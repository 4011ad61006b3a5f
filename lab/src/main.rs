//! One process of a contender: what `floe lab contender` runs, without the rest of `floe`.
//!
//! For the tests that judge the lab, a server can be slowed: with `FLOE_LAB_DELAY_MS` in its environment, a relay before it lets
//! whatever a client sends wait for so long.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_server = arguments.get(4).is_some_and(|role| role == "server");
    let delay = std::env::var(DELAY).ok();
    let delay = delay.and_then(|text| text.parse().map(Duration::from_millis).ok());
    let result = match delay.filter(|_| is_server) {
        Some(delay) => serve_slowly(&arguments, delay).map_err(|error| error.to_string()),
        None => serve(&arguments).map_err(|error| error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

const DELAY: &str = "FLOE_LAB_DELAY_MS";

fn serve(arguments: &[String]) -> Result<(), floe_lab::LabError> {
    // The lab starts its own binary as `PROGRAM lab contender ...`.
    let arguments = arguments.strip_prefix(&["lab".to_owned(), "contender".to_owned()]);
    floe_lab::contender_main(arguments.unwrap_or_default())
}

/// Starts the server itself, and a relay before it; ends when the server does, with its standard input.
fn serve_slowly(arguments: &[String], delay: Duration) -> std::io::Result<()> {
    let mut server = Command::new(std::env::current_exe()?)
        .args(arguments)
        .env_remove(DELAY)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut address)?;
    }
    let address = address.trim();
    // `127.0.0.1:4061`, or `calls:tcp -h 127.0.0.1 -p 4061 -t 60000`.
    let port = address
        .split_once("-p ")
        .or_else(|| address.rsplit_once(':'))
        .and_then(|(_, rest)| rest.split(' ').next());
    let port = port.ok_or_else(|| wrong(address))?;
    let behind: u16 = port.parse().map_err(|_| wrong(address))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let own = listener.local_addr()?.port().to_string();
    println!("{}", address.replacen(port, &own, 1));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            // A client that cannot be served fails, and the lab says so.
            let _ = client.and_then(|client| relay(client, behind, delay));
        }
    });
    server.wait()?;
    Ok(())
}

fn wrong(address: &str) -> std::io::Error {
    std::io::Error::other(format!("expected an address with a port, got {address}"))
}

fn relay(client: TcpStream, port: u16, delay: Duration) -> std::io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (replies, answered) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || pass_on(client, server, delay));
    std::thread::spawn(move || pass_on(replies, answered, Duration::ZERO));
    Ok(())
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, delay: Duration) -> std::io::Result<()> {
    let mut room = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut room)?;
        if count == 0 {
            return Ok(());
        }
        std::thread::sleep(delay);
        to.write_all(&room[..count])?;
    }
}
