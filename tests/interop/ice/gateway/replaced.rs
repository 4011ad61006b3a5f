//! A real Glacier2 is replaced by a Floe gateway at the same endpoint and with the same properties, under clients that go
//! on running.

use std::time::Duration;

use floe::Proxy;
use floe_tests::gateway::Router;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::{PATIENCE, Peer};
use floe_tests::ports;

use super::floe_client::{behind, call_back, who};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_takes_the_place_of_a_glacier2_under_running_clients() {
    let Some(ice) = Ice::or_skip() else { return };
    let (_backend, service) = ice.start_routed();
    let (_, endpoint) = service.split_once(':').expect("it has an endpoint");
    let port = ports::unclaimed();
    let properties = format!(
        "Glacier2.Client.Endpoints=tcp -p {port}\nGlacier2.PermissionsVerifier=verifier:{endpoint}\n"
    );
    let glacier2 = ice.start_glacier2(&properties);
    let proxy = format!("Glacier2/router:tcp -h 127.0.0.1 -p {port}");
    let start = |language, conversation: &str| {
        let mut client = ice.routed(language);
        client.args([conversation, &proxy, &service]);
        Peer::start(&format!("{language:?} {conversation}"), &mut client)
    };
    let mut clients = vec![
        start(Language::Python, "replaced"),
        start(Language::Cpp, "replaced"),
        start(Language::Cpp, "helper"),
    ];
    let (communicator, router) = behind(&proxy);
    let routed: Proxy = communicator.proxy(&service).expect("a proxy");
    let login = router.create_session("joe", "secret").await;
    login.expect("a session of the Glacier2");
    assert_eq!(who(&routed).await, WHO);
    call_back(&communicator, &router, &routed).await;
    for client in &mut clients {
        for expected in [
            "session: True",
            &format!("who: {WHO}"),
            "called: 42",
            "told: True",
        ] {
            assert_eq!(client.line(), expected);
        }
        assert_eq!(client.line(), "waiting: True");
    }

    drop(glacier2);
    let gateway = Router::start_floe(&properties);
    assert!(gateway.proxy().contains(&format!("-p {port}")));

    for mut client in clients {
        client.close_input();
        let lines = client.succeed();
        let went_on = [
            "another: True",
            &format!("who: {WHO}"),
            "called: 42",
            "told: True",
        ];
        let went_on: Vec<_> = went_on.iter().map(|line| (*line).to_owned()).collect();
        let is_there = lines.windows(went_on.len()).any(|part| part == went_on);
        assert!(is_there, "{lines:#?}");
    }
    let login = async {
        // The first attempt may be made over the connection that is lost.
        while router.create_session("joe", "secret").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let login = tokio::time::timeout(PATIENCE, login).await;
    login.expect("a session of the gateway");
    assert_eq!(who(&routed).await, WHO);
    call_back(&communicator, &router, &routed).await;
    router.destroy_session().await.expect("there is one");
    communicator.shutdown().await;
}

const WHO: &str = "service /service '' Normal";
