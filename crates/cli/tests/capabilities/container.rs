//! The image of `packaging/Dockerfile`, as far as no engine is needed: what it is made from, who runs in it, and that
//! its command line is one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::hub::Running;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).expect("a file of the workspace")
}

/// The words that follow an instruction, each time it is there.
fn all<'a>(file: &'a str, instruction: &str) -> Vec<&'a str> {
    let lines = file.lines();
    lines
        .filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '))
        .collect()
}

/// The words that follow an instruction that is there once.
#[track_caller]
fn one<'a>(file: &'a str, instruction: &str) -> &'a str {
    match all(file, instruction)[..] {
        [text] => text,
        ref other => panic!("expected one {instruction}, got {other:?}"),
    }
}

/// The words of an instruction in the form of a list.
fn words(list: &str) -> Vec<String> {
    serde_json::from_str(list).expect("a JSON array of texts")
}

#[test]
fn an_image_is_built_by_the_toolchain_and_profile_of_the_workspace() {
    let (file, manifest) = (read("packaging/Dockerfile"), read("Cargo.toml"));
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .expect("the workspace has one")
        .trim_matches('"');
    let from = all(&file, "FROM");
    assert_eq!(from.len(), 2, "{from:?}");
    assert_eq!(from[0], format!("rust:{version}-bookworm AS build"));
    let build = one(&file, "RUN");
    assert!(build.contains("--profile dist --package floe-cli --features full"));
    assert!(manifest.contains("[profile.dist]"));
    assert!(read("crates/cli/Cargo.toml").contains("\nfull = ["));
    // All that is copied from outside is the workspace, and from the build only what it makes.
    let copied = all(&file, "COPY");
    let expected = [
        ". .",
        "--from=build /src/target/dist/floe /usr/bin/floe",
        "--from=build --chown=nonroot:nonroot /data /var/lib/floe",
    ];
    assert_eq!(copied, expected);
    assert!(build.ends_with("&& mkdir /data"), "{build}");
    let ignored = read(".dockerignore");
    let ignored: Vec<&str> = ignored.lines().collect();
    assert!(ignored.contains(&"target") && ignored.contains(&".git"));
    for folder in ["crates", "contracts", "lab", "examples", "tests", "xtask"] {
        assert!(!ignored.contains(&folder), "the build needs {folder}");
    }
}

#[test]
fn an_image_has_no_shell_and_runs_as_no_root() {
    let file = read("packaging/Dockerfile");
    let last = *all(&file, "FROM").last().expect("a stage");
    assert!(last.starts_with("gcr.io/distroless/") && last.ends_with(":nonroot"));
    assert_eq!(one(&file, "USER"), "nonroot");
    assert_eq!(words(one(&file, "ENTRYPOINT")), ["/usr/bin/floe"]);
    assert_eq!(one(&file, "VOLUME"), "/var/lib/floe");
}

#[test]
fn the_command_of_an_image_starts_a_hub() {
    let file = read("packaging/Dockerfile");
    let volume = one(&file, "VOLUME");
    let folder = env!("CARGO_TARGET_TMPDIR");
    let data = format!("{folder}/container-{}", std::process::id());
    let mut command = words(one(&file, "CMD"));
    assert!(command.iter().any(|word| word == "*"), "{command:?}");
    // On any port of this computer, and in a folder of this test.
    for word in &mut command {
        match word.as_str() {
            "*" => "127.0.0.1:0".clone_into(word),
            text if text == volume => data.clone_into(word),
            _ => {}
        }
    }
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let hub = Running::start(&command);
    let ready = hub.line();
    assert!(ready.starts_with("ready IceStorm/TopicManager"), "{ready}");
    hub.signal("TERM");
    hub.end().ended(0);
    fs::remove_dir_all(&data).expect("the hub has made its folder");
}
