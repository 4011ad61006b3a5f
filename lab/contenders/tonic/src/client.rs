//! The client: calls, checks what comes back, and measures.

use std::time::Duration;

use futures_util::future::try_join_all;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

use crate::contract::floe_calls::Empty;
use crate::contract::floe_calls::calls_client::CallsClient;
use crate::contract::floe_lab::{Bytes, Doubles, Inner, Nested, Outer};
use crate::task::{Case, Stopwatch, Work, expect};
use crate::{Failure, MESSAGE_LEN_MAX};

/// Measures a case, and gives the line that says how long calls took.
///
/// # Errors
/// What the server answered wrongly, or why it did not.
pub(crate) async fn call(case: Case, round_time: Duration, address: &str) -> Result<String, Failure> {
    let client = CallsClient::new(connect(case, address).await?)
        .max_decoding_message_size(MESSAGE_LEN_MAX as usize)
        .max_encoding_message_size(MESSAGE_LEN_MAX as usize);
    let mut measuring = Measuring {
        client,
        stopwatch: Stopwatch::new(case, round_time),
    };
    match case.work {
        Work::Twoway => measuring.twoway().await?,
        Work::AmiMany => measuring.many().await?,
        Work::Oneway => measuring.oneway(case.oneways()).await?,
        Work::Echo(count) => measuring.echo(count).await?,
        Work::AckBytes(count) => measuring.ack_bytes(count).await?,
        Work::AckNested(count) => measuring.ack_nested(count).await?,
    }
    Ok(measuring.stopwatch.line())
}

async fn connect(case: Case, address: &str) -> Result<Channel, Failure> {
    let uri = if case.is_unix { "http://unix" } else { &format!("http://{address}") };
    let endpoint = Endpoint::try_from(uri.to_owned())?
        .tcp_nodelay(true)
        .initial_stream_window_size(MESSAGE_LEN_MAX)
        .initial_connection_window_size(MESSAGE_LEN_MAX);
    if !case.is_unix {
        return Ok(endpoint.connect().await?);
    }
    let path = address.to_owned();
    let connector = tower::service_fn(move |_| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    });
    Ok(endpoint.connect_with_connector(connector).await?)
}

struct Measuring {
    client: CallsClient<Channel>,
    stopwatch: Stopwatch,
}

impl Measuring {
    async fn twoway(&mut self) -> Result<(), Failure> {
        let mut made = 0;
        loop {
            self.client.nothing(Empty {}).await?;
            made += 1;
            if !self.stopwatch.laps(1) {
                return self.expect_count(made).await;
            }
        }
    }

    async fn many(&mut self) -> Result<(), Failure> {
        let mut made = 0;
        loop {
            let calls = (0..IN_FLIGHT).map(|_| {
                let mut client = self.client.clone();
                async move { client.nothing(Empty {}).await }
            });
            made += try_join_all(calls).await?.len();
            if !self.stopwatch.laps(IN_FLIGHT) {
                return self.expect_count(made).await;
            }
        }
    }

    async fn expect_count(&mut self, made: usize) -> Result<(), Failure> {
        let count = self.client.count(Empty {}).await?.into_inner().value;
        expect("the count of calls", made as i64, count)
    }

    async fn oneway(&mut self, count: usize) -> Result<(), Failure> {
        loop {
            let stream = tokio_stream::iter((0..count).map(|_| Empty {}));
            let told = self.client.tell(stream).await?.into_inner().value;
            expect("the count of a stream", count as i64, told)?;
            if !self.stopwatch.laps(count) {
                return Ok(());
            }
        }
    }

    async fn echo(&mut self, count: usize) -> Result<(), Failure> {
        let value: Vec<f64> = (0..count).map(|index| index as f64 * 0.001).collect();
        let (sent, last) = (value.clone(), value.last().copied());
        // A message is given away; what comes back is the next one.
        let mut values = self.client.echo(Doubles { value }).await?.into_inner();
        loop {
            values = self.client.echo(values).await?.into_inner();
            expect("the count of an echo", count, values.value.len())?;
            expect("the last number of an echo", last, values.value.last().copied())?;
            if !self.stopwatch.laps(1) {
                return expect("whether echoes are what was sent", true, sent == values.value);
            }
        }
    }

    async fn ack_bytes(&mut self, count: usize) -> Result<(), Failure> {
        let bytes = (0..count).map(|index| (index * 31 + index / 256) as u8);
        let value: prost::bytes::Bytes = bytes.collect::<Vec<u8>>().into();
        let last = value.last().copied().unwrap_or_default();
        let expected = 256 * count as i64 + i64::from(last);
        let payload = Bytes { value };
        loop {
            let ack = self.client.take_bytes(payload.clone()).await?.into_inner();
            expect("the acknowledgement", expected, ack.value)?;
            if !self.stopwatch.laps(1) {
                return Ok(());
            }
        }
    }

    async fn ack_nested(&mut self, count: usize) -> Result<(), Failure> {
        let records = records(count);
        let inner = records.outer.iter().flat_map(|outer| &outer.inner);
        let expected: f64 = inner.map(|inner| inner.l as f64 + inner.d).sum();
        loop {
            // A message is given away.
            let ack = self.client.take_records(records.clone()).await?.into_inner();
            expect("the acknowledgement", expected, ack.value)?;
            if !self.stopwatch.laps(1) {
                return Ok(());
            }
        }
    }
}

fn records(count: usize) -> Nested {
    let inner = |number: usize| Inner {
        l: number as i64,
        d: number as f64 * 0.25,
    };
    let outer = |record: usize| Outer {
        inner: (0..4).map(|index| inner(record * 4 + index)).collect(),
    };
    Nested {
        outer: (0..count).map(outer).collect(),
    }
}

/// Calls that are in flight at the same time.
const IN_FLIGHT: usize = 1_000;
