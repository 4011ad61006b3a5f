//! Calls through a router: a gateway of Floe, or a Glacier2, with the default settings of each.
//!
//! The back end and the client are programs of Floe for both of them, so that the routers alone make the difference.

use std::time::Instant;

use floe::contracts::glacier2::RouterProxy;
use floe::{Communicator, TypedProxy};
use tokio::runtime::Builder;

use super::{Case, GatewayContender, refusal, wait_for_end};
use crate::contender::calls::floe::contract::floe_calls::CallsProxy;
use crate::contender::calls::floe::{measure, start_server};
use crate::contender::calls::payload::expect;
use crate::contender::events::daemon::free_port;
use crate::contender::events::{Service, announce_service};
use crate::contender::router::Router;
use crate::contender::{Contender, Failure, Origin, announce, peer};
use crate::measure::Effort;
use crate::sample::Sample;

/// A gateway of Floe.
pub(crate) const FLOE_GATEWAY: Contender = Contender {
    name: "floe-gateway",
    refusal,
    encoding: None,
    origin: Origin::Gateway(&GatewayContender {
        peer: None,
        service: Service::Own(|_| serve(&Router::floe("tcp -h 127.0.0.1 -p 0", "", &[])?)),
        call,
    }),
};

/// A Glacier2.
pub(crate) const GLACIER2: Contender = Contender {
    name: "glacier2",
    refusal,
    encoding: None,
    origin: Origin::Gateway(&GatewayContender {
        peer: Some(&peer::GLACIER2),
        service: Service::Own(|_| {
            let endpoint = format!("tcp -h 127.0.0.1 -p {}", free_port()?);
            serve(&Router::glacier2(&endpoint, "")?)
        }),
        call,
    }),
};

/// Starts a back end, and says where it and the router are.
fn serve(router: &Router) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let communicator = Communicator::new();
        let (_adapter, calls) = start_server(&communicator, "tcp -h 127.0.0.1 -p 0").await?;
        let address = format!("{}\t{calls}", router.proxy);
        announce_service(&address, router.daemon.pid())?;
        tokio::task::spawn_blocking(wait_for_end).await?;
        Ok(())
    })
}

/// Does what the case says, and keeps its sessions until the lab is done.
fn call(case: Case, effort: Effort, address: &str) -> Result<(), Failure> {
    let (router, calls) = address
        .split_once('\t')
        .ok_or("expected a router and a back end")?;
    let (router, calls) = (router.to_owned(), calls.to_owned());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Calls are made from a task, as in the scenario `rpc`.
    let calling = runtime.spawn(async move {
        let mut sessions = Vec::new();
        let sample = match case {
            Case::Calls(case) => {
                let session = Session::new(&router, &calls).await?;
                let calls = session.calls.clone();
                sessions.push(session);
                measure(case, calls, effort).await?
            }
            Case::Sessions(count) => make_sessions(&router, &calls, count, &mut sessions).await?,
        };
        announce(&sample.to_line())?;
        tokio::task::spawn_blocking(wait_for_end).await?;
        Ok(())
    });
    runtime.block_on(calling)?
}

/// A client with a session, over a connection of its own.
struct Session {
    /// The object behind the router.
    calls: CallsProxy,
    /// Keeps the connection.
    _communicator: Communicator,
}

impl Session {
    async fn new(router: &str, calls: &str) -> Result<Self, Failure> {
        let communicator = Communicator::new();
        let router: RouterProxy = communicator.proxy(router)?;
        router.create_session("lab", "lab").await?;
        let calls: CallsProxy = communicator.proxy(calls)?;
        Ok(Self {
            calls: calls.ice_router(Some(router.as_proxy())),
            _communicator: communicator,
        })
    }
}

/// Makes sessions one after another, with a call to the back end in each.
async fn make_sessions(
    router: &str,
    calls: &str,
    count: u64,
    sessions: &mut Vec<Session>,
) -> Result<Sample, Failure> {
    let mut sample = Sample::new();
    for _ in 0..count {
        let started = Instant::now();
        let session = Session::new(router, calls).await?;
        session.calls.nothing().await?;
        sample.record(started.elapsed().as_nanos() as f64, 1);
        sessions.push(session);
    }
    // Each call came, and came once.
    if let Some(session) = sessions.last() {
        let came = session.calls.count().await?;
        expect("the count of calls", count as i64, came)?;
    }
    Ok(sample)
}
