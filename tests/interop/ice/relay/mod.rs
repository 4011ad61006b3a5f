//! A Floe servant between Ice programs that know more types than it does: what it relays of them.
//!
//! An Ice client asks the servant for what an Ice server throws. That Ice 3.7 relays the same is tried, too.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract {
    floe::include_contract!("Relay");
}
/// The contract in the language of Ice 3.7.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract37 {
    floe::include_contract!("Relay37");
}
#[cfg(feature = "ice38")]
mod ice38;

use std::process::Command;

use floe::Communicator;
use floe_tests::ice::{Ice, folder};
use floe_tests::peer::Peer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_unknown_is_relayed_as_ice_3_7_relays_it() {
    let Some(ice) = Ice::or_skip() else { return };
    let (middle, proxy) = start(&ice, "middle");
    let expected = ask(&ice, &proxy);
    end(middle);
    assert_eq!(relayed_by_floe(&ice, Slice::V37).await, expected);
    let whole = "KeptMost why=most level=3 more=most text code=- node=node#0 again=- last=next#1";
    assert_eq!(line(&expected, "1.1 fail most"), whole);
    assert_eq!(
        line(&expected, "1.1 makeSaved"),
        "SavedMore name=saved node=node#0"
    );
    assert_eq!(line(&expected, "1.1 makeLost"), "Lost name=lost");
}

/// Classes alone differ: they are kept as Ice 3.8 keeps them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_classes_are_relayed_whole_unless_the_contract_is_one_of_ice_3_7() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut expected = relayed_by_floe(&ice, Slice::V37).await;
    let said = relayed_by_floe(&ice, Slice::Any).await;
    let lost = expected
        .iter_mut()
        .find(|line| line.starts_with("1.1 makeLost:"));
    "1.1 makeLost: LostMore name=lost node=node#0".clone_into(lost.expect("a line"));
    assert_eq!(said, expected);
}

/// In which version of Slice the contract of the servant is compiled.
#[derive(Clone, Copy)]
enum Slice {
    Any,
    V37,
}

/// Returns the lines of a client of `ice` that calls a source of `ice` through a Floe servant.
async fn relayed_by_floe(ice: &Ice, slice: Slice) -> Vec<String> {
    let communicator = Communicator::new();
    let (_adapter, proxy) = match slice {
        Slice::Any => any::serve(&communicator).await,
        Slice::V37 => v37::serve(&communicator).await,
    };
    let ice = Ice::with_python(ice.python().to_owned());
    let asked = tokio::task::spawn_blocking(move || ask(&ice, &proxy));
    asked.await.expect("the client succeeds")
}

/// Returns the line about a call.
fn line<'a>(said: &'a [String], call: &str) -> &'a str {
    let call = format!("{call}: ");
    let line = said.iter().find_map(|line| line.strip_prefix(&call));
    line.unwrap_or_else(|| panic!("{call} is among {said:#?}"))
}

/// The servant, of either contract.
macro_rules! middle {
    ($name:ident of $contract:ident) => {
        mod $name {
            use floe::classes::Link;
            use floe::{Adapter, Communicator, Current, TypedProxy};

            use super::$contract::relay::*;

            pub(super) async fn serve(communicator: &Communicator) -> (Adapter, String) {
                let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
                let adapter = adapter.expect("a free port");
                let proxy = adapter.add("relay", MiddleDispatcher::new(Servant));
                adapter.activate();
                (adapter, proxy.expect("the identity is free").to_string())
            }

            struct Servant;

            type Source = Option<SourceProxy>;

            /// The source, asked in the encoding in which the servant was.
            fn asked(source: Source, current: &Current) -> Result<SourceProxy, NoSource> {
                let source = source.ok_or(NoSource {})?;
                Ok(source.ice_encoding(current.encoding()))
            }

            impl Middle for Servant {
                async fn fail(
                    &self,
                    source: Source,
                    kind: String,
                    current: &Current,
                ) -> Result<(), CutOrKeptOrNoSourceError> {
                    Ok(asked(source, current)?.fail(&kind).await?)
                }

                async fn fail_compact(
                    &self,
                    source: Source,
                    kind: String,
                    current: &Current,
                ) -> Result<(), CutOrKeptOrNoSourceError> {
                    Ok(asked(source, current)?.fail(&kind).await?)
                }

                async fn make_saved(
                    &self,
                    source: Source,
                    current: &Current,
                ) -> Result<Link<Saved>, NoSourceError> {
                    Ok(asked(source, current)?.make_saved().await?)
                }

                async fn make_saved_compact(
                    &self,
                    source: Source,
                    current: &Current,
                ) -> Result<Link<Saved>, NoSourceError> {
                    Ok(asked(source, current)?.make_saved().await?)
                }

                async fn make_lost(
                    &self,
                    source: Source,
                    current: &Current,
                ) -> Result<Link<Lost>, NoSourceError> {
                    Ok(asked(source, current)?.make_lost().await?)
                }

                async fn make_lost_compact(
                    &self,
                    source: Source,
                    current: &Current,
                ) -> Result<Link<Lost>, NoSourceError> {
                    Ok(asked(source, current)?.make_lost().await?)
                }
            }
        }
    };
}

middle!(any of contract);
middle!(v37 of contract37);

/// Returns a client's lines about a source behind `middle`, one for each call.
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
