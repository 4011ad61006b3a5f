//! The machine's own limit: bare blocking sockets that carry as many bytes as the protocol would.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use crate::contender::{Contender, Failure, Origin, announce};
use crate::measure::Effort;
use crate::sample::Sample;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    cases: &["twoway"],
    encoding: None,
    origin: Origin::Pair { serve, call },
};

/// Bytes of the request that calls `nothing` of the object `calls`.
///
/// ```text
/// | header 14 | id 4 | name 6 | category 1 | facet 1 | operation 8 | mode 1 | context 1 | parameters 6 |
/// ```
const REQUEST_LEN: usize = 42;

/// Bytes of its reply: header 14, request id 4, status 1, results 6.
const REPLY_LEN: usize = 25;

fn serve(_case: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    announce(&listener.local_addr()?.to_string())?;
    loop {
        let (stream, _) = listener.accept()?;
        answer(stream)?;
    }
}

/// Answers until the client is gone.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = [0; REQUEST_LEN];
    let reply = [0; REPLY_LEN];
    loop {
        match stream.read_exact(&mut request) {
            Ok(()) => stream.write_all(&reply)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn call(_case: &str, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let request = [0; REQUEST_LEN];
    let mut reply = [0; REPLY_LEN];
    let mut stopwatch = effort.stopwatch();
    loop {
        stream.write_all(&request)?;
        stream.read_exact(&mut reply)?;
        if !stopwatch.lap() {
            return Ok(stopwatch.into_sample());
        }
    }
}

#[cfg(test)]
mod tests {
    use floe_wire::encoding::EncodingVersion;
    use floe_wire::message::{Context, OperationMode, RequestHeader, RequestId, reply};

    use super::*;
    use crate::contender::calls::floe::IDENTITY;

    #[test]
    fn requests_have_the_length_of_those_of_the_protocol() {
        let header = RequestHeader {
            identity: &IDENTITY.parse().unwrap(),
            facet: "",
            operation: "nothing",
            mode: OperationMode::Normal,
            context: &Context::new(),
        };
        let mut message = Vec::new();
        let id = RequestId(1);
        header
            .write(&mut message, id, EncodingVersion::V1_1, |_| ())
            .unwrap();
        assert_eq!(message.len(), REQUEST_LEN);
    }

    #[test]
    fn replies_have_the_length_of_those_of_the_protocol() {
        let mut message = Vec::new();
        let id = RequestId(1);
        reply::write_returned(&mut message, id, EncodingVersion::V1_1, |_| ()).unwrap();
        assert_eq!(message.len(), REPLY_LEN);
    }
}
