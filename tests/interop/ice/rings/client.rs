//! The Floe client of Rings.ice: it asks and says the same as `call` of `peer.py`.

use floe::classes::{Link, Ref};
use floe::{Communicator, EncodingVersion, Proxy, TypedProxy};

use super::contract::rings::*;
use super::servant::{fork, node, ring};

/// A line for each answer.
pub(super) async fn ask(communicator: &Communicator, keeper: &str) -> Vec<String> {
    let keeper: Proxy = communicator.proxy(keeper).expect("a proxy");
    let keeper = KeeperProxy::checked(keeper).await.expect("an answer");
    let keeper = keeper.expect("a keeper");
    let mut said = Vec::new();
    for encoding in [EncodingVersion::V1_1, EncodingVersion::V1_0] {
        let proxy = keeper.ice_encoding(encoding);
        for length in [1, 2, 5] {
            ask_about_rings(&proxy, length, &mut |line| {
                said.push(format!("{encoding} {line}"));
            })
            .await;
        }
        ask_about_forks(&proxy, &mut |line| said.push(format!("{encoding} {line}"))).await;
    }
    said
}

async fn ask_about_rings(keeper: &KeeperProxy, length: i32, say: &mut impl FnMut(String)) {
    let first = || ring(length).expect("a ring").0;
    let after = keeper.after(&first()).await.expect("a node");
    say(format!("after {length} {}", tell(&after)));
    let after = keeper.after_sliced(&first()).await.expect("a node");
    say(format!("afterSliced {length} {}", tell(&after)));
    for name in ["ring", "ringSliced"] {
        let answer = match name {
            "ring" => keeper.ring(length).await,
            _ => keeper.ring_sliced(length).await,
        };
        let (first, last) = answer.expect("a ring");
        let next = last.get().and_then(|last| last.next.get());
        let is_closed = match is_same(&next.expect("a node"), &first) {
            true => "True",
            false => "False",
        };
        let (told, told_last) = (tell(&first), tell(&last));
        say(format!("{name} {length} {told} {told_last} {is_closed}"));
        // The last one alone is held while it is sent.
        drop(first);
        let after = keeper.after(&last).await.expect("a node");
        let sliced = keeper.after_sliced(&last).await.expect("a node");
        say(format!("{name} sent on {} {}", tell(&after), tell(&sliced)));
    }
    keeper.keep(&first()).await.expect("nothing");
    let (kept, sliced) = kept(keeper).await;
    say(format!("kept {length} {kept} {sliced}"));
}

async fn ask_about_forks(keeper: &KeeperProxy, say: &mut impl FnMut(String)) {
    let sent = || fork().expect("a fork");
    let after = keeper.after(&sent()).await.expect("a node");
    let sliced = keeper.after_sliced(&sent()).await.expect("a node");
    say(format!("after a fork {} {}", tell(&after), tell(&sliced)));
    let outside = Link::new(node("outside", sent()));
    keeper.keep(&outside).await.expect("nothing");
    let (kept, sliced) = kept(keeper).await;
    say(format!("kept fork {kept} {sliced}"));
    let fork = keeper.fork().await.expect("a fork");
    let told = tell(&fork);
    // Two parts of it are kept, and nothing holds the rest.
    let (next, other) = {
        let fork = fork.get().expect("an instance");
        let fork = fork.cast::<Fork>().expect("its class is known");
        (fork.next.clone(), fork.other.clone())
    };
    drop(fork);
    let after = keeper.after(&next).await.expect("a node");
    let sliced = keeper.after_sliced(&other).await.expect("a node");
    say(format!("fork {told} {} {}", tell(&after), tell(&sliced)));
}

async fn kept(keeper: &KeeperProxy) -> (String, String) {
    let kept = keeper.kept().await.expect("a node");
    let sliced = keeper.kept_sliced().await.expect("a node");
    (tell(&kept), tell(&sliced))
}

fn is_same(one: &Ref<Node>, other: &Link<Node>) -> bool {
    other.get().is_some_and(|other| one.ptr_eq(&other))
}

/// The names that are met from a node on, and where they repeat; of a fork both ways.
fn tell(link: &Link<Node>) -> String {
    let (mut told, mut seen) = (Vec::new(), Vec::<Ref<Node>>::new());
    let mut next = link.get();
    while let Some(node) = next.take_if(|node| !seen.iter().any(|one| one.ptr_eq(node))) {
        let ways = node.cast::<Fork>().map(|fork| tell(&fork.other));
        let ways = ways.map_or(String::new(), |other| format!("({other})"));
        told.push(format!("{}{ways}", node.name));
        next = node.next.get();
        seen.push(node);
    }
    told.push(next.map_or("-".to_owned(), |node| node.name.clone()));
    told.join(" ")
}
