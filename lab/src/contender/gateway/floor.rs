//! The machine's own limit: a relay of bare sockets between the client and the back end of the scenario `rpc`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use super::{Case, GatewayContender, wait_for_end};
use crate::contender::calls::floor;
use crate::contender::events::{Service, announce_service};
use crate::contender::{Contender, Failure, Origin, announce};

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |name| match Case::parse(name) {
        Ok(Case::Calls(_)) => None,
        Ok(Case::Sessions(_)) => Some("a relay has no sessions"),
        Err(_) => Some("the scenario has no such case"),
    },
    encoding: None,
    origin: Origin::Gateway(&GatewayContender {
        peer: None,
        service: Service::Own(|case| serve(calls_of(Case::parse(case)?)?)),
        call: |case, effort, address| {
            let sample = floor::call(calls_of(case)?, address, effort)?;
            announce(&sample.to_line())?;
            wait_for_end();
            Ok(())
        },
    }),
};

fn calls_of(case: Case) -> Result<crate::contender::calls::case::Case, Failure> {
    match case {
        Case::Calls(calls) => Ok(calls),
        Case::Sessions(_) => Err("a relay has no sessions".into()),
    }
}

/// Relays one client to a back end.
fn serve(case: crate::contender::calls::case::Case) -> Result<(), Failure> {
    let back_end = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let relay = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let to_back_end = TcpStream::connect(back_end.local_addr()?)?;
    to_back_end.set_nodelay(true)?;
    let (answering, _) = back_end.accept()?;
    answering.set_nodelay(true)?;
    thread::spawn(move || floor::answer(case, answering));
    announce_service(&relay.local_addr()?.to_string(), std::process::id())?;
    thread::spawn(wait_and_exit);
    let (client, _) = relay.accept()?;
    client.set_nodelay(true)?;
    let (from_client, from_back_end) = (client.try_clone()?, to_back_end.try_clone()?);
    let requests = thread::spawn(move || copy(from_client, to_back_end));
    copy(from_back_end, client)?;
    let relayed = requests.join().map_err(|_| "the relay panicked")?;
    relayed?;
    wait_for_end();
    Ok(())
}

fn wait_and_exit() {
    wait_for_end();
    std::process::exit(0);
}

/// Passes bytes on as they come, and then the end.
fn copy(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let mut room = vec![0; 64 * 1024];
    loop {
        match from.read(&mut room)? {
            0 => return to.shutdown(Shutdown::Write),
            count => to.write_all(&room[..count])?,
        }
    }
}
