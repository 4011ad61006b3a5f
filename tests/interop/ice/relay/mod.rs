//! A Floe servant between Ice programs that know more types than it does: what it relays of them.
//!
//! An Ice client asks the servant for what an Ice server throws. That Ice 3.7 relays the same is tried, too.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract {
    floe::include_contract!("Relay");
}
#[cfg(feature = "ice38")]
mod ice38;

use std::process::Command;

use floe::{Adapter, Communicator, Current, TypedProxy};
use floe_tests::ice::{Ice, folder};
use floe_tests::peer::Peer;

use contract::relay::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exceptions_are_relayed_as_ice_3_7_relays_them() {
    let Some(ice) = Ice::or_skip() else { return };
    let (middle, proxy) = start(&ice, "middle");
    let expected = ask(&ice, &proxy);
    end(middle);
    assert_eq!(relayed_by_floe(&ice).await, expected);
    let whole = "1.1 fail most: KeptMost why=most level=3 more=most text code=- node=node#0 again=- last=next#1";
    assert!(expected.iter().any(|line| line == whole), "{expected:#?}");
}

/// What a client of `ice` gets of a source of `ice` through a Floe servant.
async fn relayed_by_floe(ice: &Ice) -> Vec<String> {
    let communicator = Communicator::new();
    let (_adapter, proxy) = serve(&communicator).await;
    let ice = Ice::with_python(ice.python().to_owned());
    let asked = tokio::task::spawn_blocking(move || ask(&ice, &proxy));
    asked.await.expect("the client succeeds")
}

async fn serve(communicator: &Communicator) -> (Adapter, String) {
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let proxy = adapter.add("relay", MiddleDispatcher::new(Servant));
    adapter.activate();
    (adapter, proxy.expect("the identity is free").to_string())
}

struct Servant;

impl Middle for Servant {
    async fn fail(
        &self,
        source: Option<SourceProxy>,
        kind: String,
        current: &Current,
    ) -> Result<(), CutOrKeptOrNoSourceError> {
        let source = source.ok_or(NoSource {})?.ice_encoding(current.encoding());
        Ok(source.fail(&kind).await?)
    }

    async fn fail_compact(
        &self,
        source: Option<SourceProxy>,
        kind: String,
        current: &Current,
    ) -> Result<(), CutOrKeptOrNoSourceError> {
        let source = source.ok_or(NoSource {})?.ice_encoding(current.encoding());
        Ok(source.fail(&kind).await?)
    }
}

/// What a client says of a source behind `middle`, a line for each call.
fn ask(ice: &Ice, middle: &str) -> Vec<String> {
    let (source, proxy) = start(ice, "source");
    let mut client = command(ice, "call");
    client.args([middle, &proxy]);
    let mut lines = Peer::start("the Ice client", &mut client).succeed();
    end(source);
    assert_eq!(lines.pop().as_deref(), Some("done"));
    lines
}

fn start(ice: &Ice, role: &str) -> (Peer, String) {
    let mut server = Peer::start("the Ice server", &mut command(ice, role));
    let proxy = server.ready();
    (server, proxy)
}

fn end(mut server: Peer) {
    server.close_input();
    server.succeed();
}

fn command(ice: &Ice, role: &str) -> Command {
    let mut command = Command::new(ice.python());
    command.arg(folder().join("relay/peer.py")).arg(role);
    command
}
