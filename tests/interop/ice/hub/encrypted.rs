//! Events to Ice subscribers over ssl, with certificates on both sides.

use std::fs;
use std::process::Command;

use floe_tests::certificates::Certificates;
use floe_tests::hub::Hub;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;

use super::{COUNT, assert_got_all};

/// A file with what an Ice subscriber listens with; it wants to see the hub's certificate.
fn config(name: &str, certificates: &Certificates, identity: &str) -> String {
    let file = workspace::target_dir().join(name);
    let folder = certificates.folder().display();
    let text = format!(
        "Ice.Plugin.IceSSL=IceSSL:createIceSSL\nIceSSL.DefaultDir={folder}\nIceSSL.CAs=ca.pem\n\
         IceSSL.CertFile={identity}.pem\nIceSSL.KeyFile={identity}.key\nIceSSL.VerifyPeer=2\n\
         Subscriber.Endpoints=ssl -h 127.0.0.1 -p 0\n"
    );
    fs::write(&file, text).expect("the target folder can be written");
    format!("--Ice.Config={}", file.display())
}

fn subscriber(ice: &Ice, language: Language, arguments: [&str; 5]) -> Peer {
    let mut subscriber = ice.peer("subscriber", language);
    Peer::start("the Ice subscriber", subscriber.args(arguments))
}

#[test]
fn events_reach_ice_subscribers_over_ssl_in_every_mode() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let path = |name: &str| certificates.path(name).display().to_string();
    let (ca, cert, key) = (path("ca.pem"), path("client.pem"), path("client.key"));
    let hub = Hub::start(&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key]);
    let manager = hub.manager();
    let (count, option) = (
        COUNT.to_string(),
        config("ssl.config", &certificates, "server"),
    );
    for mode in ["twoway", "ordered", "oneway", "batch"] {
        for language in Language::ALL {
            let topic = format!("ssl {mode} {language:?}");
            let arguments = [&manager, &topic, mode, &count, &option];
            let mut subscriber = subscriber(&ice, language, arguments);
            subscriber.ready();
            let publisher = ice.start_publisher(language, &manager, &topic, "twoway", COUNT);
            publisher.succeed();
            assert_got_all(subscriber, COUNT, &topic);
        }
    }
}

#[test]
fn a_subscriber_with_the_certificate_of_another_host_gets_nothing_and_is_logged() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let path = |name: &str| certificates.path(name).display().to_string();
    let (ca, cert, key) = (path("ca.pem"), path("client.pem"), path("client.key"));
    let mut hub = Hub::start(&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key]);
    let manager = hub.manager();
    let option = config("elsewhere.config", &certificates, "elsewhere");
    let mut subscriber = subscriber(&ice, Language::Cpp, [&manager, "t", "twoway", "1", &option]);
    subscriber.ready();
    let publisher = ice.start_publisher(Language::Cpp, &manager, "t", "twoway", 1);
    publisher.succeed();
    let log = hub
        .peer()
        .errors_with("the next event ends the subscription");
    assert!(log.contains("certificate"), "{log}");
    subscriber.close_input();
    assert_eq!(subscriber.succeed(), ["received 0"]);
}

#[test]
fn the_property_file_of_an_encrypted_icestorm_lets_in_whom_it_let_in() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let folder = certificates.folder().display();
    let file = workspace::target_dir().join("moved.config");
    // Nothing is said of who must show a certificate: in Ice, everybody.
    let text = format!(
        "Ice.Default.Protocol=ssl\nIceStorm.Transient=1\n\
         IceStorm.TopicManager.Endpoints=default -h 127.0.0.1 -p 0\n\
         IceStorm.Publish.Endpoints=default -h 127.0.0.1 -p 0\n\
         IceSSL.DefaultDir={folder}\nIceSSL.CAs=ca.pem\nIceSSL.CertFile=server.p12\nIceSSL.Password=floe\n"
    );
    fs::write(&file, text).expect("the target folder can be written");
    let mut serve = Command::new(workspace::program("floe"));
    serve.args(["serve", "--config"]).arg(&file);
    let mut hub = Peer::start("floe serve", &mut serve);
    let manager = hub.ready();
    assert!(manager.contains(":ssl -h 127.0.0.1 "), "{manager}");
    let (count, option) = (
        COUNT.to_string(),
        config("moved-client.config", &certificates, "client"),
    );
    for language in Language::ALL {
        let topic = format!("moved {language:?}");
        let arguments = [&manager, &topic, "twoway", &count, &option];
        let mut subscriber = subscriber(&ice, language, arguments);
        subscriber.ready();
        let mut publisher = ice.peer("publisher", language);
        let publisher = Peer::start("the Ice publisher", publisher.args(arguments));
        publisher.succeed();
        assert_got_all(subscriber, COUNT, &topic);
    }
    let mut stranger = Command::new(workspace::program("floe"));
    stranger.args(["topic", "list", "--hub", &manager, "--tls-ca"]);
    let refused = stranger.arg(certificates.path("ca.pem")).output();
    let refused = refused.expect("the command is there");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("certificate"), "{said}");
}
