//! The naming service.

use floe_giop::cos::naming::Name;
use floe_giop::message::Outcome;
use floe_giop::reference::Ior;
use floe_giop::system_exception::SystemExceptionKind as Kind;

use crate::client::{Client, refusal};
use crate::fixture::{settings, start, start_with, topic};

async fn resolve(client: &mut Client, name: &str) -> Outcome {
    let name = Name::parse(name).expect("it is a name");
    client
        .call(b"NameService", "resolve", |to| name.encode(to))
        .await
}

#[tokio::test]
async fn each_channel_has_its_name() {
    let mut other = topic("other", "::Demo::Feed");
    other.name = Some("Märkte 1.5".to_owned());
    let topics = vec![topic("ticks", "::Demo::Ticker"), other];
    let joined = start_with(settings(), topics).await;
    let mut client = Client::connect(&joined.address()).await;
    for (name, key) in [("ticks", "ticks"), ("Märkte 1\\.5", "Märkte 1.5")] {
        let Outcome::Results(body) = resolve(&mut client, name).await else {
            panic!("{name} is bound")
        };
        let reference = Ior::decode(&mut body.decoder()).expect("it is a reference");
        let profile = reference.iiop_profiles().next().expect("it has one");
        assert_eq!(
            format!("{}:{}", profile.host, profile.port),
            joined.address()
        );
        assert_eq!(profile.key, key.as_bytes());
        client.obtain(&profile.key, "for_consumers").await;
    }
    let missing = resolve(&mut client, "none").await;
    assert!(
        matches!(missing, Outcome::UserException { .. }),
        "{missing:?}"
    );
    joined.end().await;
}

#[tokio::test]
async fn programs_change_no_names_and_destroy_no_channels() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let name = Name::parse("ticks").expect("it is a name");
    for operation in [
        "bind",
        "rebind",
        "unbind",
        "bind_new_context",
        "new_context",
        "destroy",
    ] {
        let refused = client
            .call(b"NameService", operation, |to| {
                name.encode(to)?;
                Ior::NIL.encode(to)
            })
            .await;
        assert_eq!(refusal(refused), (Kind::NoPermission, 9), "{operation}");
    }
    let refused = client.call(b"ticks", "destroy", |_| Ok(())).await;
    assert_eq!(refusal(refused), (Kind::NoPermission, 9));
    assert!(matches!(
        resolve(&mut client, "ticks").await,
        Outcome::Results(_)
    ));
    joined.end().await;
}
