//! `floe cert` and `floe token`: who they let into a hub, and what they leave alone.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::command::{Ran, floe, run, run_with_input, slice_file};
use crate::hub::Running;

/// A folder for the files of a test, empty at its beginning.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cert-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the target folder can be written");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Runs a command that writes its files here.
    fn run(&self, words: &[&str]) -> Ran {
        run(&[words, &["--dir", self.0.to_str().expect("text")]].concat())
    }

    /// A CA, and the certificates of a server and a client.
    fn with_certificates(name: &str) -> Self {
        let folder = Self::new(name);
        folder.run(&["cert", "ca"]).ended(0);
        let server = ["cert", "server", "127.0.0.1", "--name", "hub"];
        folder.run(&server).ended(0);
        let client = [
            "cert",
            "client",
            "spectrometer",
            "--organization",
            "Acme, Inc.",
        ];
        folder.run(&client).ended(0);
        folder
    }

    /// A hub with these rules that shows a certificate and asks for one.
    fn hub(&self, rules: &str) -> Running {
        let at = self.0.display();
        let settings = format!(
            "listen = \"ssl -h 127.0.0.1 -p 0\"\n[tls]\nca = \"{at}/ca.pem\"\ncert = \"{at}/hub.pem\"\n\
             key = \"{at}/hub.key\"\n{rules}"
        );
        fs::write(self.0.join("floe.toml"), settings).expect("the target folder can be written");
        Running::start(&["serve", "--transient", "--config", &self.path("floe.toml")])
    }
}

fn ready(hub: &Running) -> String {
    let line = hub.line();
    line.strip_prefix("ready ").expect("it is ready").to_owned()
}

#[test]
fn three_lines_make_the_certificates_of_a_hub_and_a_client() {
    let folder = Folder::with_certificates("three-lines");
    let hub = folder.hub(
        "[[access.rule]]\nallow = \"*\"\ncertificate = \"O=Acme\\\\, Inc.,CN=spectrometer\"\n",
    );
    let manager = ready(&hub);
    let create = [
        "topic",
        "create",
        "t",
        "--hub",
        &manager,
        "--tls-ca",
        &folder.path("ca.pem"),
    ];
    let [own, key] = ["spectrometer.pem", "spectrometer.key"].map(|name| folder.path(name));
    run(&[&create[..], &["--tls-cert", &own, "--tls-key", &key]].concat()).ended(0);
    run(&create)
        .ended(1)
        .said("it requires a certificate from us");
    // Another CA of the same name has another key.
    let strangers = Folder::with_certificates("strangers");
    let [own, key] = ["spectrometer.pem", "spectrometer.key"].map(|name| strangers.path(name));
    let refused = run(&[&create[..], &["--tls-cert", &own, "--tls-key", &key]].concat());
    assert_ne!(refused.code, Some(0), "{refused:?}");
    // The certificate of a client is none of a server.
    let server = [
        "--tls-cert",
        &folder.path("spectrometer.pem"),
        "--tls-key",
        &folder.path("spectrometer.key"),
    ];
    let echo = ["echo", "--listen", "ssl -h 127.0.0.1 -p 0"];
    let echo = Running::start(&[&echo[..], &server].concat());
    let proxy = ready(&echo);
    let ping = run(&[
        "call",
        &proxy,
        "ice_ping",
        "--tls-ca",
        &folder.path("ca.pem"),
    ]);
    assert_ne!(ping.code, Some(0), "{ping:?}");
}

#[cfg(unix)]
#[test]
fn keys_are_for_their_owner_alone_and_nothing_is_overwritten_unasked() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::with_certificates("owner");
    folder.run(&["token", "key"]).ended(0);
    let mode = |name: &str| {
        let metadata = fs::metadata(folder.path(name)).expect("it was written");
        metadata.permissions().mode() & 0o777
    };
    for key in ["ca.key", "hub.key", "spectrometer.key", "issuer.key"] {
        assert_eq!(mode(key), 0o600, "{key}");
    }
    let before = fs::read(folder.path("ca.key")).expect("a key");
    for words in [
        &["cert", "ca"][..],
        &["cert", "client", "spectrometer"],
        &["cert", "server", "localhost", "--name", "hub"],
        &["token", "key"],
    ] {
        folder
            .run(words)
            .ended(1)
            .said("exists already")
            .said("--force");
    }
    // One file that exists keeps the other from being written.
    fs::remove_file(folder.path("hub.key")).expect("it is there");
    folder
        .run(&["cert", "server", "localhost", "--name", "hub"])
        .ended(1);
    assert!(!folder.0.join("hub.key").exists());
    assert_eq!(fs::read(folder.path("ca.key")).expect("a key"), before);
    // Who asks for it gets a new file, whatever the old one was: a link does not lead the key elsewhere.
    fs::remove_file(folder.path("spectrometer.key")).expect("it is there");
    symlink(folder.path("elsewhere"), folder.path("spectrometer.key")).expect("a link");
    folder
        .run(&["cert", "client", "spectrometer"])
        .ended(1)
        .said("exists already");
    folder
        .run(&["cert", "client", "spectrometer", "--force"])
        .ended(0);
    assert_eq!(mode("spectrometer.key"), 0o600);
    assert!(!folder.0.join("elsewhere").exists());
}

#[test]
fn a_certificate_ends_when_it_was_said_and_not_after_its_ca() {
    let folder = Folder::new("ends");
    folder.run(&["cert", "ca", "--days", "30"]).ended(0);
    let days = |words: &[&str]| folder.run(words).ended(0).json()["days"].clone();
    assert_eq!(days(&["cert", "client", "short", "--days", "7"]), json!(7));
    assert_eq!(
        days(&["cert", "client", "long", "--days", "365"]),
        json!(30)
    );
    for wrong in ["0", "-1", "99999", "x"] {
        folder
            .run(&["cert", "client", "c", "--days", wrong])
            .ended(2);
    }
}

#[test]
fn names_and_files_that_make_no_certificate_are_refused() {
    let folder = Folder::new("refused");
    folder
        .run(&["cert", "client", "ann"])
        .ended(2)
        .said("ca.pem")
        .said("`floe cert ca` makes a CA");
    folder.run(&["cert", "ca"]).ended(0);
    for name in ["../ann", "a/b", "", "ca", "-x"] {
        folder.run(&["cert", "client", "--", name]).ended(2);
    }
    folder.run(&["cert", "server"]).ended(2);
    for host in ["a b", "0.0.0.0", "tcp -h a -p 1", "a..b"] {
        folder
            .run(&["cert", "server", host])
            .ended(2)
            .said("expected");
    }
    // The certificate of a client signs nothing.
    folder.run(&["cert", "client", "ann"]).ended(0);
    for (file, wrong) in [("ca.pem", "ann.pem"), ("ca.key", "ann.key")] {
        fs::copy(folder.path(wrong), folder.path(file)).expect("they are there");
    }
    folder
        .run(&["cert", "client", "bob"])
        .ended(2)
        .said("got one that may sign no others");
    folder.run(&["cert", "ca", "--force"]).ended(0);
    fs::copy(folder.path("ann.key"), folder.path("ca.key")).expect("they are there");
    folder
        .run(&["cert", "client", "bob"])
        .ended(2)
        .said("the key beside it is that of another certificate");
    for (file, said) in [
        ("ca.pem", "expected the certificate of a CA in PEM"),
        ("ca.key", "expected a private key in PEM"),
    ] {
        folder.run(&["cert", "ca", "--force"]).ended(0);
        fs::write(folder.path(file), "nothing").expect("it can be written");
        folder.run(&["cert", "client", "bob"]).ended(2).said(said);
    }
}

fn token(folder: &Folder, words: &[&str]) -> String {
    let key = folder.path("issuer.key");
    let signed = run(&[&["token", "sign", "--key", &key], words].concat()).ended(0);
    signed.stdout.trim().to_owned()
}

#[test]
fn a_signed_token_lets_its_user_into_a_hub() {
    let folder = Folder::with_certificates("token");
    folder.run(&["token", "key"]).ended(0);
    let rules = format!(
        "client-certificates = \"not-asked\"\n[access.tokens]\nkeys = \"{}\"\naudience = \"floe\"\n\
         [[access.rule]]\nallow = \"*\"\ngroups = \"operators\"\n",
        folder.path("issuer.pem")
    );
    let hub = folder.hub(&rules);
    let manager = ready(&hub);
    let create = |topic: &str, words: &[&str]| {
        let mut create = floe();
        create.args([
            "topic",
            "create",
            topic,
            "--hub",
            &manager,
            "--tls-ca",
            &folder.path("ca.pem"),
        ]);
        create.env("FLOE_TOKEN", token(&folder, words));
        Ran::from(create.output().expect("it runs"))
    };
    let good = ["ann", "--group", "operators", "--audience", "floe"];
    create("good", &good).ended(0);
    create("others", &["ann", "--audience", "floe"]).ended(5);
    create("elsewhere", &["ann", "--group", "operators"]).ended(5);
}

#[test]
fn a_token_tells_what_it_says_and_whether_it_is_valid() {
    let folder = Folder::new("show");
    folder.run(&["token", "key"]).ended(0);
    let signed = token(
        &folder,
        &[
            "ann",
            "--group",
            "a",
            "--group",
            "b",
            "--issuer",
            "me",
            "--expires",
            "1h",
        ],
    );
    let keys = folder.path("issuer.pem");
    let told = run_with_input(&["token", "show", "-"], &signed)
        .ended(0)
        .json();
    assert_eq!(
        (&told["user"], &told["groups"]),
        (&json!("ann"), &json!(["a", "b"]))
    );
    assert_eq!(
        (&told["issuer"], &told["algorithm"]),
        (&json!("me"), &json!("EdDSA"))
    );
    let verdict = |words: &[&str], code| {
        let shown = run_with_input(
            &[&["token", "show", "-", "--keys", &keys], words].concat(),
            &signed,
        );
        shown.ended(code).json()["verdict"].clone()
    };
    assert_eq!(verdict(&["--issuer", "me"], 0), "valid");
    assert_eq!(
        verdict(&["--issuer", "you"], 5),
        "the token comes from another issuer"
    );
    folder.run(&["token", "key", "--force"]).ended(0);
    assert_eq!(verdict(&[], 5), "no known key has signed the token");
    // Another program made this one, which ended in 2020.
    let tokens = include_str!("../../../access/tests/tokens/tokens.txt");
    let expired = tokens
        .lines()
        .find_map(|line| line.strip_prefix("expired "));
    let shown = run(&["token", "show", expired.expect("it is there")])
        .ended(5)
        .json();
    assert_eq!(shown["verdict"], "the token has expired");
    run(&["token", "show"]).ended(2).said("FLOE_TOKEN");
    run_with_input(&["token", "show", "-"], "garbage")
        .ended(2)
        .said("no signed JSON web token");
}

#[test]
fn no_token_is_signed_that_no_hub_would_accept() {
    let folder = Folder::new("unsigned");
    folder.run(&["token", "key"]).ended(0);
    let key = folder.path("issuer.key");
    let sign = |words: &[&str]| run(&[&["token", "sign", "--key", &key], words].concat());
    sign(&["a b"])
        .ended(2)
        .said("expected a name without blanks");
    sign(&["anonymous"]).ended(2);
    sign(&["ann", "--expires", "0s"])
        .ended(2)
        .said("at least 1s");
    sign(&["ann", "--expires", "never"]).ended(2);
    let public = folder.path("issuer.pem");
    run(&["token", "sign", "ann", "--key", &public])
        .ended(2)
        .said("expected a block PRIVATE KEY in PEM, got none");
    let nowhere = slice_file("no-issuer.key", "");
    run(&["token", "sign", "ann", "--key", &nowhere]).ended(2);
    run(&["token", "sign", "ann", "--key", "/nowhere/issuer.key"])
        .ended(2)
        .said("`floe token key` makes issuer.key");
}
