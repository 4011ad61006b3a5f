//! Property files with which Ice's own services start: `floe serve` starts with each of them.
//!
//! The files in `tests/ice-files/` are ours. They have the properties that files of IceStorm and Glacier2 have together.
//! Source: Ice manual, "IceStorm Properties", "Glacier2 Properties", "IceMX Properties", "IceSSL Properties".

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::certificates::Certificates;
use crate::command::floe;
use crate::hub::Running;

/// Starts `floe serve` with a file, with free ports in the place of its own, in a folder with certificates.
fn start(name: &str, change: impl Fn(String) -> String) -> (Running, PathBuf) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ice-files");
    let text = fs::read_to_string(source.join(name)).expect("it is in the repository");
    let mut words: Vec<&str> = text.split(' ').collect();
    let mut ports = Vec::new();
    for at in 1..words.len() {
        let digits = words[at].bytes().take_while(u8::is_ascii_digit).count();
        if words[at - 1] == "-p" && digits > 0 {
            ports.push((at, format!("0{}", &words[at][digits..])));
        }
    }
    for (at, port) in &ports {
        words[*at] = port;
    }
    // Tests start the same file at a time, and each removes its folder.
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("ice-files-{turn}-{name}"));
    let _ = fs::remove_dir_all(&folder);
    let certificates = folder.join("certificates");
    fs::create_dir_all(&certificates).expect("the target folder can be written");
    let made = Certificates::make();
    for file in [&made.ca, &made.own, &made.key] {
        let target = certificates.join(Path::new(file).file_name().expect("a file"));
        fs::copy(file, target).expect("the target folder can be written");
    }
    fs::write(folder.join(name), change(words.join(" "))).expect("it can be written");
    let mut command = floe();
    command
        .current_dir(&folder)
        .args(["serve", "--config", name]);
    (Running::run(command), folder)
}

#[test]
fn a_service_starts_with_each_file_with_which_it_starts_in_ice() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ice-files");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("it is in the repository") {
        let name = entry.expect("an entry").file_name();
        let (process, folder) = start(name.to_str().expect("a name"), |text| text);
        let line = process.line();
        assert!(line.starts_with("ready "), "{name:?}: {line}");
        process.signal("TERM");
        process.end().ended(0);
        let _ = fs::remove_dir_all(folder);
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn what_has_no_meaning_here_is_a_warning_with_its_line() {
    let (process, _folder) = start("router-passwords.cfg", |text| text);
    process.talk(
        "router-passwords.cfg:7: Glacier2.CryptPasswords: ignored: the verifier in Glacier2.PermissionsVerifier decides alone",
    );
    let (process, _folder) = start("storm-views.cfg", |text| text);
    process.talk(
        "storm-views.cfg:8: IceMX.Metrics.All.GroupBy: ignored: no program can read views of metrics without Ice.Admin.Endpoints",
    );
    let (process, _folder) = start("storm-secure.cfg", |text| text);
    process.talk("storm-secure.cfg:11: IceSSL.TrustOnly.Client: ignored: ");
}

/// A build without encryption serves what it can, and says what is missing and how to get it.
#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_encryption_serves_the_clear_endpoints_and_says_what_is_missing() {
    let (process, _folder) = start("storm-secure.cfg", |text| text);
    let line = process.line();
    assert!(
        line.contains("tcp -h 127.0.0.1") && !line.contains("ssl"),
        "{line}"
    );
    let said = process.talked("does not listen on ssl -h 127.0.0.1 -p 0");
    assert!(
        said.contains("`cargo install floe-cli --features full` includes it"),
        "{said}"
    );
    process.talk("does not listen on wss -h 127.0.0.1 -p 0");
    process.talk("certificates and keys are ignored");
    let without_tcp = |text: String| text.replace("tcp -h 127.0.0.1 -p 0:ssl", "ssl");
    let (process, _folder) = start("storm-secure.cfg", without_tcp);
    process
        .end()
        .ended(2)
        .said("storm-secure.cfg: expected an endpoint besides ssl -h 127.0.0.1 -p 0: this build has no encryption");
}
