//! Processes of our own that are stopped and killed: this very program, started again.

use std::env;
use std::fs;
use std::process::Command;

use floe::settings::Liveness;
use floe_tests::peer::Peer;

use crate::log::Log;
use crate::stage::{Face, PATIENCE, Server, ms, settings, until};

/// The variable with a child's role. A test that finds it set is such a child.
const ROLE: &str = "FLOE_FAULTS_CHILD";

/// The program of a child. As a test it does nothing.
#[test]
fn child() {
    let Ok(role) = env::var(ROLE) else { return };
    Log::show();
    let face = Face::new_async();
    match role.split_once(' ') {
        Some(("serve", endpoint)) => {
            let server = Server::start(&face, settings(), endpoint);
            println!("\nready {}", server.adapter.endpoints()[0]);
            std::thread::sleep(2 * PATIENCE);
        }
        Some(("call", proxy)) => call_for_ever(&face, proxy),
        _ => panic!("expected `serve ENDPOINT` or `call PROXY`, got {role}"),
    }
}

/// Waits for one reply with a short patience, and tells how it ended.
fn call_for_ever(face: &Face, proxy: &str) {
    let mut settings = settings();
    let mut liveness = Liveness::default();
    liveness.heartbeat_interval = ms(200);
    liveness.idle_timeout = ms(1000);
    settings.outgoing = liveness;
    let client = face.communicator(settings);
    let proxy: floe::Proxy = client.proxy(proxy).expect("a proxy");
    face.call(&proxy, "echo").expect("the parent answers");
    println!("\nready");
    match face.call(&proxy, "wait") {
        Ok(()) => println!("answered"),
        Err(error) => println!("failed: {error}"),
    }
}

fn start(role: &str, shell: &str) -> Peer {
    let program = env::current_exe().expect("a running test has a path");
    let script = format!(
        "{shell}exec '{}' --exact child::child --nocapture",
        program.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env(ROLE, role);
    Peer::start("a child", &mut command)
}

/// A process that serves an echo; and its endpoint.
pub(crate) fn serve() -> (Peer, String) {
    serve_after("")
}

/// Starts the server after commands of the shell.
pub(crate) fn serve_after(shell: &str) -> (Peer, String) {
    let mut peer = start("serve tcp -h 127.0.0.1 -p 0", shell);
    let endpoint = peer.ready();
    (peer, format!("echo:{endpoint}"))
}

/// Stops a process, and waits until all its threads stand still.
pub(crate) fn stop(peer: &Peer) {
    peer.signal("STOP");
    until("its threads stand still", || {
        let threads = fs::read_dir(format!("/proc/{}/task", peer.id())).expect("Linux");
        threads.flatten().all(|thread| {
            let status = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            status.contains(") T ")
        })
    });
}

/// A process that calls `wait` of an echo, and says how that ended.
pub(crate) fn call(server: &Server) -> Peer {
    let role = format!("call echo:{}", server.adapter.endpoints()[0]);
    let mut peer = start(&role, "");
    peer.ready();
    peer
}

#[test]
fn an_echo_of_another_process_answers() {
    let (_peer, proxy) = serve();
    let face = Face::Blocking;
    let client = face.communicator(settings());
    face.call(&client.proxy(&proxy).expect("a proxy"), "echo")
        .expect("it answers");
}
