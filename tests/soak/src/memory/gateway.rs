//! The memory of a gateway with many sessions, each over a connection of its own and with a route in use.

use std::process::Command;

use floe::contracts::glacier2::RouterProxy;
use floe::dispatch::{DispatchSlot, Requests};
use floe::{Communicator, Dispatcher, Proxy, TypedProxy};

use super::figure::Figure;
use super::hub::{IDLE_MAX, IDLE_MAX_DEV};
use crate::hub::station::hub_program;
use crate::member::Member;
use crate::process;

/// A gateway with a thousand sessions stays below this many bytes.
const SESSIONS_MAX: u64 = 60_000_000;

/// Measures a `floe serve` with a gateway alone and so many sessions.
pub(super) fn figure(session_count: usize) -> Figure {
    let base = std::env::temp_dir().join(format!("floe-memory-gateway-{}", std::process::id()));
    let (config, log) = (base.with_extension("toml"), base.with_extension("log"));
    let settings = "hub = false\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\n\
                    server-listen = \"tcp -h 127.0.0.1 -p 0\"\nverifier = \"accept-all\"\n";
    std::fs::write(&config, settings).expect("the folder for temporary files can be written");
    let mut serve = Command::new(hub_program());
    serve.args(["serve", "--config"]).arg(&config);
    let started = Member::start(serve, &log);
    let (gateway, router) = started.unwrap_or_else(|error| panic!("the gateway: {error}"));
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let sessions = runtime.block_on(make_sessions(&router, session_count));
    let resident = process::resident(gateway.id()).expect("it runs, and the system has /proc");
    drop(sessions);
    for file in [config, log] {
        // It was of use only if the gateway had not started.
        let _ = std::fs::remove_file(file);
    }
    let limit = match cfg!(debug_assertions) {
        true => SESSIONS_MAX + IDLE_MAX_DEV - IDLE_MAX,
        false => SESSIONS_MAX,
    };
    Figure::bytes(
        &format!("gateway with {session_count} sessions"),
        resident,
        limit,
    )
}

/// Answers every request with nothing.
struct Nothing;

impl Dispatcher for Nothing {
    fn dispatch(self: std::sync::Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, |request| {
            std::future::ready(request.returned_nothing())
        });
    }
}

/// Makes sessions, each with a call to an object behind the gateway. Returns what keeps them and the object.
async fn make_sessions(router: &str, count: usize) -> Vec<Communicator> {
    let back_end = Communicator::new();
    let adapter = back_end.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let object = adapter.add("object", Nothing).expect("the first");
    adapter.activate();
    let mut kept = Vec::new();
    for number in 0..count {
        let client = Communicator::new();
        let router: RouterProxy = client.proxy(router).expect("a proxy");
        let user = format!("user-{number}");
        let session = router.create_session(&user, "secret").await;
        session.expect("a session");
        let object: Proxy = client.proxy(&object.to_string()).expect("a proxy");
        let routed = object.ice_router(Some(router.as_proxy()));
        let called = routed.invoke("op", floe::OperationMode::Normal, NOTHING);
        called.await.expect("an answer");
        kept.push(client);
    }
    kept.push(back_end);
    kept
}

/// An encapsulation of nothing.
const NOTHING: &[u8] = &[6, 0, 0, 0, 1, 1];
