//! Ice programs whom the rules of a hub allow or refuse, by their token and by their certificate.

use std::fs;
use std::process::Command;

use floe_access::{DistinguishedName, TrustOnly};
use floe_tests::certificates::Certificates;
use floe_tests::hub::Hub;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;

fn file(name: &str, text: &str) -> String {
    let file = workspace::target_dir().join(name);
    fs::write(&file, text).expect("the target folder can be written");
    file.display().to_string()
}

/// Returns an Ice program's lines about its attempts.
fn attempts(ice: &Ice, arguments: &[&str]) -> Vec<String> {
    let mut python = ice.peer("access", Language::Python);
    Peer::start("an Ice program", python.arg("hub").args(arguments)).succeed()
}

fn token(name: &str) -> String {
    let file = workspace::root().join("crates/access/tests/tokens/tokens.txt");
    let text = fs::read_to_string(file).expect("tokens");
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, token) = lines.find(|(own, _)| *own == name).expect("a token");
    token.to_owned()
}

#[test]
fn an_ice_program_is_allowed_by_the_token_in_its_context() {
    let Some(ice) = Ice::or_skip() else { return };
    let keys = workspace::root().join("crates/access/tests/tokens/keys.pem");
    let rules = format!(
        "[access.tokens]\nkeys = {keys:?}\n[[access.rule]]\nallow = [\"create\", \"publish\"]\nusers = \"ann\"\n"
    );
    let hub = Hub::start(&["--config", &file("tokens.toml", &rules)]);
    let manager = hub.manager();
    let say = |token: &str| attempts(&ice, &[&manager, "t", token]);
    assert_eq!(say(&token("ann")), ["create allowed", "publish allowed"]);
    assert_eq!(
        say(""),
        [
            "create access refused: anonymous may not create (topic \"t\")",
            "publish access refused: anonymous may not publish (topic \"t\")",
        ]
    );
    assert_eq!(
        say(&token("bob")),
        [
            "create access refused: bob may not create (topic \"t\")",
            "publish access refused: bob may not publish (topic \"t\")",
        ]
    );
    assert_eq!(
        say(&token("expired")),
        [
            "create access refused: the token has expired",
            "publish access refused: the token has expired",
        ]
    );
}

#[test]
fn an_ice_program_is_allowed_by_its_certificate() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let path = |name: &str| certificates.path(name).display().to_string();
    let (ca, cert, key) = (path("ca.pem"), path("server.pem"), path("server.key"));
    let rules = format!(
        "listen = \"ssl -h 127.0.0.1 -p 0\"\n[tls]\nca = {ca:?}\ncert = {cert:?}\nkey = {key:?}\n[[access.rule]]\nallow = [\"create\", \"publish\"]\n\
         certificate = 'O=\"Acme, Inc.\",OU=Sales; !CN=elsewhere'\n"
    );
    let mut serve = Command::new(workspace::program("floe"));
    serve.args(["serve", "--config", &file("certificates.toml", &rules)]);
    let mut hub = Peer::start("floe serve", &mut serve);
    let manager = hub.ready();
    let say = |identity: &str| {
        let folder = certificates.folder().display();
        let options = format!(
            "Ice.Plugin.IceSSL=IceSSL:createIceSSL\nIceSSL.DefaultDir={folder}\nIceSSL.CAs=ca.pem\n\
             IceSSL.CertFile={identity}.pem\nIceSSL.KeyFile={identity}.key\nIceSSL.VerifyPeer=2\n"
        );
        let option = format!(
            "--Ice.Config={}",
            file(&format!("access-{identity}.config"), &options)
        );
        attempts(&ice, &[&manager, "t", "", &option])
    };
    assert_eq!(say("member"), ["create allowed", "publish allowed"]);
    assert_eq!(
        say("client"),
        [
            "create access refused: CN=client may not create (topic \"t\")",
            "publish access refused: CN=client may not publish (topic \"t\")",
        ]
    );
}

#[test]
fn trust_only_trusts_whom_ice_trusts() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let folder = certificates.folder().display().to_string();
    let texts = [
        "CN=member",
        "CN=Member",
        "O=Acme\\, Inc.",
        "O=\"Acme, Inc.\"",
        "OU=Sales,O=\"Acme, Inc.\"",
        "O=\"Acme, Inc.\",OU=Sales,CN=member",
        "O=\"Acme, Inc.\",OU=Marketing",
        "CN=other;CN=member",
        "CN=other; CN=member",
        "!CN=member",
        "!CN=other",
        "!CN=other;CN=third",
        "CN=member;!OU=Sales",
        "!OU=Sales,CN=other;O=\"Acme, Inc.\"",
        "C=NO",
    ];
    let der = fs::read(certificates.path("member.der")).expect("a certificate");
    let subject = DistinguishedName::of_certificate(&der);
    let mut python = ice.peer("access", Language::Python);
    let mut arguments = vec!["trust", &folder, "member"];
    arguments.extend(texts);
    let said = Peer::start("an Ice server", python.args(arguments)).succeed();
    for (text, said) in texts.iter().zip(&said) {
        let trust: TrustOnly = text
            .parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let own = if trust.trusts(subject.as_ref()) {
            "accepted"
        } else {
            "refused"
        };
        assert_eq!(own, said, "{text}");
    }
    assert_eq!(said.len(), texts.len());
}
