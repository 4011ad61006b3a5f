//! The servant, and where it is reached.

use std::io::Read;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::net::{TcpListener, UnixListener};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

use crate::contract::floe_calls::calls_server::{Calls, CallsServer};
use crate::contract::floe_calls::{Empty, Integer, Sum};
use crate::contract::floe_lab::{Bytes, Doubles, Nested};
use crate::task::Case;
use crate::{Failure, MESSAGE_LEN_MAX, announce};

pub(crate) async fn serve(case: Case) -> Result<(), Failure> {
    end_with_stdin();
    let service = CallsServer::new(Servant::default())
        .max_decoding_message_size(MESSAGE_LEN_MAX as usize)
        .max_encoding_message_size(MESSAGE_LEN_MAX as usize);
    let router = Server::builder()
        .initial_stream_window_size(MESSAGE_LEN_MAX)
        .initial_connection_window_size(MESSAGE_LEN_MAX)
        .add_service(service);
    if case.is_unix {
        let name = format!("floe-lab-{}.socket", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = UnixListener::bind(&path)?;
        announce(&path.display().to_string())?;
        router.serve_with_incoming(UnixListenerStream::new(listener)).await?;
    } else {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        announce(&listener.local_addr()?.to_string())?;
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        router.serve_with_incoming(incoming).await?;
    }
    Ok(())
}

/// Ends this process when its stdin does: when the lab is done with it, or is gone.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut ignored = Vec::new();
        // A broken stdin is as good as an ended one.
        let _ = std::io::stdin().read_to_end(&mut ignored);
        std::process::exit(0);
    });
}

#[derive(Debug, Default)]
struct Servant {
    nothing_count: AtomicI64,
}

#[tonic::async_trait]
impl Calls for Servant {
    async fn nothing(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.nothing_count.fetch_add(1, Ordering::Relaxed);
        Ok(Response::new(Empty {}))
    }

    async fn tell(&self, told: Request<Streaming<Empty>>) -> Result<Response<Integer>, Status> {
        let mut told = told.into_inner();
        let mut value = 0;
        while told.message().await?.is_some() {
            value += 1;
        }
        Ok(Response::new(Integer { value }))
    }

    async fn count(&self, _: Request<Empty>) -> Result<Response<Integer>, Status> {
        let value = self.nothing_count.load(Ordering::Relaxed);
        Ok(Response::new(Integer { value }))
    }

    async fn echo(&self, values: Request<Doubles>) -> Result<Response<Doubles>, Status> {
        Ok(Response::new(values.into_inner()))
    }

    async fn take_bytes(&self, payload: Request<Bytes>) -> Result<Response<Integer>, Status> {
        let payload = payload.into_inner().value;
        let last = payload.last().copied().unwrap_or_default();
        let value = 256 * payload.len() as i64 + i64::from(last);
        Ok(Response::new(Integer { value }))
    }

    async fn take_records(&self, records: Request<Nested>) -> Result<Response<Sum>, Status> {
        let records = records.into_inner();
        let inner = records.outer.iter().flat_map(|outer| &outer.inner);
        let value = inner.map(|inner| inner.l as f64 + inner.d).sum();
        Ok(Response::new(Sum { value }))
    }
}
