//! Named contexts: where a hub is and where contracts are, said once.

use std::path::PathBuf;

use crate::command::{Ran, floe, slice_file};
use crate::hub::Hub;

/// A user with settings of their own.
struct User {
    home: PathBuf,
}

impl User {
    fn new(name: &str) -> Self {
        let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&home);
        Self { home }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = floe();
        command.args(arguments).env("XDG_CONFIG_HOME", &self.home);
        Ran::from(
            command
                .output()
                .expect("the command was built with this test"),
        )
    }
}

#[test]
fn a_context_says_where_the_hub_is_and_options_go_before_it() {
    let (first, second) = (Hub::start(), Hub::start());
    first.run(&["topic", "create", "one"]).ended(0);
    second.run(&["topic", "create", "two"]).ended(0);
    let user = User::new("contexts");
    let list = |arguments: &[&str]| {
        let list = ["topic", "list", "-o", "raw"];
        user.run(&[&list[..], arguments].concat()).ended(0).stdout
    };
    user.run(&["context", "add", "a", "--hub", &first.manager])
        .ended(0)
        .said("added context `a`, the current one");
    user.run(&["context", "add", "b", "--hub", &second.manager])
        .ended(0)
        .said("`floe context use b`");
    assert_eq!(list(&[]), "one\n");
    assert_eq!(list(&["--context", "b"]), "two\n");
    assert_eq!(list(&["--hub", &second.manager]), "two\n");
    user.run(&["context", "use", "b"])
        .ended(0)
        .said("the current context is `b`");
    assert_eq!(list(&[]), "two\n");
    let contexts = user.run(&["context", "list", "-o", "json"]).ended(0).json();
    assert_eq!(contexts[1]["current"], true, "{contexts}");
    assert_eq!(user.run(&["context", "show"]).json()["hub"], second.manager);
    user.run(&["context", "remove", "b"])
        .ended(0)
        .said("removed b")
        .said("no context is the current one");
    user.run(&["context", "show"]).ended(4);
    user.run(&["topic", "list", "--context", "b"])
        .ended(4)
        .said("no context `b`")
        .said("there are: a");
}

#[test]
fn a_context_says_where_slice_files_are() {
    let hub = Hub::start();
    let file = slice_file(
        "OfContext.ice",
        "module M { interface I { void n(long i); } }",
    );
    let folder = PathBuf::from(&file);
    let folder = folder
        .parent()
        .and_then(|it| it.to_str())
        .expect("it has one");
    let user = User::new("contexts-slice");
    user.run(&["context", "add", "a", "--hub", &hub.manager, "-I", folder])
        .ended(0);
    let publish = [
        "pub",
        "t",
        "n",
        "[1]",
        "--create",
        "--slice",
        "OfContext.ice",
    ];
    user.run(&publish).ended(0);
}

#[test]
fn a_file_of_contexts_that_makes_no_sense_is_named() {
    let user = User::new("contexts-wrong");
    let folder = user.home.join("floe");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    std::fs::write(folder.join("contexts.toml"), "[context.a]\nhbu = \"x\"\n")
        .expect("it is there");
    user.run(&["topic", "list"])
        .ended(2)
        .said("contexts.toml")
        .said("unknown setting hbu");
    // What asks nobody needs no context.
    user.run(&["completions", "bash"]).ended(0);
    user.run(&["completions", "bash", "--context", "a"])
        .ended(2);
}

#[test]
fn a_file_of_contexts_may_be_a_link_to_another() {
    let user = User::new("contexts-linked");
    let folder = user.home.join("floe");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let (link, target) = (folder.join("contexts.toml"), user.home.join("shared.toml"));
    std::fs::write(&target, "").expect("it can be written");
    std::os::unix::fs::symlink(&target, &link).expect("nothing is there yet");
    let add = ["context", "add", "a", "--hub", "127.0.0.1:1"];
    user.run(&add).ended(0);
    assert!(link.is_symlink());
    let shared = std::fs::read_to_string(&target).expect("it is there");
    assert!(shared.contains("127.0.0.1:1"), "{shared}");
}

#[test]
fn a_context_has_a_router_and_its_user() {
    let user = User::new("contexts-router");
    let add = ["context", "add", "far", "--user", "ann"];
    user.run(&add).ended(2).said("--router");
    let add = [
        &add[..],
        &["--router", "127.0.0.1:1", "--password-file", "none"],
    ]
    .concat();
    user.run(&add).ended(0);
    let shown = user.run(&["context", "show", "-o", "json"]).json();
    assert_eq!(shown["router"], "127.0.0.1:1");
    assert_eq!(shown["user"], "ann");
    let call = ["call", "a:tcp -h 127.0.0.1 -p 1", "ice_ping"];
    user.run(&call).ended(2).said("none");
    let password = user.home.join("password");
    std::fs::write(&password, "secret\n").expect("the context is in the same directory");
    let password = password
        .to_str()
        .expect("the path of the workspace is text");
    let add = [
        "context",
        "add",
        "far",
        "--router",
        "127.0.0.1:1",
        "--user",
        "ann",
    ];
    user.run(&[&add[..], &["--password-file", password]].concat())
        .ended(0);
    let slice = slice_file(
        "contexts-router.ice",
        "module Far { interface News { void told(); } }",
    );
    let listen = [
        "sub",
        "news",
        "--hub",
        "127.0.0.1:1",
        "--listen",
        "127.0.0.1:4099",
        "--slice",
        &slice,
    ];
    user.run(&listen).ended(2).said("--listen");
    user.run(&["context", "use", "--none"]).ended(0);
    let alone = [&call[..], &["--user", "ann"]].concat();
    user.run(&alone)
        .ended(2)
        .said("expected --router with --user");
}

#[test]
fn a_context_stands_for_something_that_makes_sense() {
    let user = User::new("contexts-checked");
    user.run(&["context", "add", "a"])
        .ended(2)
        .said("expected what the context `a` stands for, got nothing")
        .said("`floe context add a --hub HOST`");
    for hub in [":::", "", "tcp -h", "Demo/TopicManager:tpc -p 1"] {
        user.run(&["context", "add", "a", "--hub", hub])
            .ended(2)
            .said("expected HOST:PORT, an endpoint");
    }
    user.run(&["context", "list"]).ended(0).said("no contexts");
    user.run(&["context", "add", "slice", "-I", "."])
        .ended(0)
        .said("added context `slice`, which names no hub, the current one");
    for hub in [
        "localhost",
        "[::1]:1",
        "tcp -h localhost -p 1",
        "Demo/TopicManager:localhost:1",
    ] {
        user.run(&["context", "add", "a", "--hub", hub]).ended(0);
    }
    user.run(&["context", "remove", "a"])
        .ended(0)
        .said("removed a")
        .said("the current context is `slice`");
    user.run(&["context", "use", "--none"])
        .ended(0)
        .said("no context is the current one");
}
