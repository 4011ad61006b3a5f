//! Arrows: which package may depend on which, held against every `Cargo.toml`.
//!
//! Dependencies run one way. What a package needs only to test itself, or only to build, is judged apart, because
//! its users never see that.

use toml::{Table, Value};

use crate::tree::File;

/// Dependencies that no arrow allows.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"))
        .flat_map(check)
        .collect()
}

fn check(file: &File) -> Vec<String> {
    let manifest: Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("{}: expected a manifest, got: {error}", file.path)],
    };
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(Value::as_str);
    let Some(name) = name else { return Vec::new() };
    let Some(arrows) = Arrows::of(name, &file.path) else {
        return vec![format!(
            "{}: expected a known package, got `{name}`; a new crate needs an ADR and a line here",
            file.path
        )];
    };
    let dependencies = dependencies(&manifest);
    let problems = dependencies
        .iter()
        .filter_map(|dependency| arrows.problem(dependency));
    problems
        .map(|problem| format!("{}: {problem}", file.path))
        .collect()
}

/// The packages of ours that a package may use, by kind of dependency.
struct Arrows {
    uses: &'static [&'static str],
    builds_with: &'static [&'static str],
    tests_with: &'static [&'static str],
    /// True if it is pure, so that nothing of the world may come in by a library either.
    pure: bool,
}

impl Arrows {
    fn of(package: &str, path: &str) -> Option<Self> {
        let (uses, pure): (&[&str], bool) = match package {
            "floe-wire" | "floe-giop" | "floe-rtps" | "floe-amqp" | "floe-slice"
            | "floe-access" => (&[], true),
            "floe-codegen" => (&["floe-slice"], true),
            "floe-dynamic" => (&["floe-slice", "floe-wire"], true),
            "floe" => (&["floe-wire"], false),
            "floe-metrics" => (&["floe"], false),
            "floe-hub" | "floe-gateway" => (&["floe", "floe-access", "floe-metrics"], false),
            "floe-bridges" => (
                &[
                    "floe",
                    "floe-access",
                    "floe-codegen",
                    "floe-dynamic",
                    "floe-slice",
                    "floe-wire",
                    "floe-giop",
                    "floe-rtps",
                    "floe-amqp",
                ],
                false,
            ),
            "floe-lab" => (&["floe", "floe-hub", "floe-gateway"], false),
            "floe-server" => (&SERVER_USES, false),
            "floe-cli" => (&COMMAND_USES, false),
            "floe-tests" | "floe-fuzz" => (&BELOW_THE_COMMAND, false),
            "floe-soak" => (&["floe", "floe-hub", "floe-tests", "floe-wire"], false),
            "xtask" => (&[], false),
            // A program with a server of its own.
            "embedded-server" => (&["floe", "floe-server"], false),
            _ if path.starts_with("examples/") => (&["floe"], false),
            // A peer knows nothing of ours.
            _ if path.starts_with("lab/contenders/") => (&[], false),
            _ => return None,
        };
        Some(Self {
            uses,
            builds_with: builds_with(package),
            tests_with: tests_with(package),
            pure,
        })
    }

    fn problem(&self, dependency: &Dependency) -> Option<String> {
        let Dependency {
            package,
            kind,
            optional,
        } = dependency;
        let allowed = match kind {
            Kind::Normal => self.uses,
            Kind::Build => self.builds_with,
            Kind::Dev => self.tests_with,
        };
        let is_ours = package == "floe" || package.starts_with("floe-") || package == "xtask";
        if is_ours && !allowed.contains(&package.as_str()) {
            return Some(format!(
                "no arrow leads to `{package}` as a {} dependency; allowed: {allowed:?}",
                kind.word()
            ));
        }
        if package == "floe-lab" && !optional {
            return Some("expected `floe-lab` to be optional, behind a feature".to_owned());
        }
        let is_world = WORLD.iter().any(|prefix| package.starts_with(prefix));
        let breaks = self.pure && *kind == Kind::Normal && is_world;
        breaks.then(|| format!("expected a pure package, got the dependency `{package}`"))
    }
}

/// Build scripts compile contracts; below the runtime there are none, and the runtime commits what it generates.
fn builds_with(package: &str) -> &'static [&'static str] {
    match package {
        "floe-wire" | "floe-giop" | "floe-rtps" | "floe-amqp" | "floe-slice" | "floe-codegen"
        | "floe-dynamic" | "floe" | "xtask" => &[],
        _ => &["floe-codegen"],
    }
}

/// Tests may join what the code keeps apart, but `wire` and `slice` do not meet even there.
fn tests_with(package: &str) -> &'static [&'static str] {
    match package {
        // Of itself, with all features.
        "floe-wire" => &["floe-wire"],
        // Their peers are programs of others, which the means of our tests start.
        "floe-rtps" => &["floe-tests"],
        "floe-amqp" | "floe-giop" | "floe-slice" | "xtask" => &[],
        _ => &BELOW_THE_COMMAND,
    }
}

/// One entry of a manifest.
struct Dependency {
    /// The package's real name, whatever it is called in the manifest.
    package: String,
    kind: Kind,
    optional: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Build,
    Dev,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Build => "build",
            Self::Dev => "dev",
        }
    }
}

/// The dependencies of a manifest, those of single targets among them.
fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    tables.chain([manifest]).flat_map(dependencies_of).collect()
}

fn dependencies_of(table: &Table) -> Vec<Dependency> {
    let sections = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Build),
        ("dev-dependencies", Kind::Dev),
    ];
    let entries = sections
        .iter()
        .filter_map(|(section, kind)| Some((table.get(*section)?.as_table()?, *kind)));
    entries
        .flat_map(|(entries, kind)| {
            entries
                .iter()
                .map(move |(key, value)| dependency(key, value, kind))
        })
        .collect()
}

fn dependency(key: &str, value: &Value, kind: Kind) -> Dependency {
    let package = value
        .get("package")
        .and_then(Value::as_str)
        .unwrap_or(key)
        .to_owned();
    let optional = value
        .get("optional")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    Dependency {
        package,
        kind,
        optional,
    }
}

/// The server joins what serves. It speaks through others, and so uses no contract but for the bridges.
const SERVER_USES: [&str; 8] = [
    "floe",
    "floe-access",
    "floe-bridges",
    "floe-dynamic",
    "floe-gateway",
    "floe-hub",
    "floe-metrics",
    "floe-wire",
];

/// The command joins everything; nothing depends on it.
const COMMAND_USES: [&str; 15] = [
    "floe",
    "floe-access",
    "floe-amqp",
    "floe-bridges",
    "floe-codegen",
    "floe-dynamic",
    "floe-gateway",
    "floe-giop",
    "floe-hub",
    "floe-lab",
    "floe-metrics",
    "floe-rtps",
    "floe-server",
    "floe-slice",
    "floe-wire",
];

/// All but the command, and the lab, which only the command uses.
const BELOW_THE_COMMAND: [&str; 14] = [
    "floe",
    "floe-access",
    "floe-amqp",
    "floe-bridges",
    "floe-codegen",
    "floe-dynamic",
    "floe-gateway",
    "floe-giop",
    "floe-hub",
    "floe-metrics",
    "floe-rtps",
    "floe-server",
    "floe-slice",
    "floe-wire",
];

/// Beginnings of the names of libraries that bring in async, sockets, clocks or chance.
const WORLD: [&str; 12] = [
    "tokio",
    "async-",
    "futures",
    "mio",
    "socket2",
    "rustls",
    "hyper",
    "rand",
    "getrandom",
    "chrono",
    "time",
    "smol",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_in(package: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{package}\"\n{rest}");
        findings(&[File::new("crates/x/Cargo.toml", &text)])
    }

    fn uses(package: &str, other: &str) -> bool {
        findings_in(
            package,
            &format!("[dependencies]\n{other}.workspace = true"),
        )
        .is_empty()
    }

    #[test]
    fn arrows_point_down_only() {
        let down = [
            ("floe-codegen", "floe-slice"),
            ("floe", "floe-wire"),
            ("floe-hub", "floe"),
            ("floe-hub", "floe-access"),
            ("floe-hub", "floe-metrics"),
            ("floe-gateway", "floe-metrics"),
            ("floe-server", "floe-hub"),
            ("floe-server", "floe-gateway"),
            ("floe-cli", "floe-server"),
            ("floe-cli", "floe-hub"),
        ];
        for (upper, lower) in down {
            assert!(uses(upper, lower), "{upper} -> {lower}");
            assert!(!uses(lower, upper), "{lower} -> {upper}");
        }
    }

    #[test]
    fn wire_and_slice_never_meet_not_even_in_tests() {
        for (one, other) in [("floe-wire", "floe-slice"), ("floe-slice", "floe-wire")] {
            assert!(!uses(one, other));
            assert_eq!(
                findings_in(
                    one,
                    &format!("[dev-dependencies]\n{other}.workspace = true")
                )
                .len(),
                1
            );
        }
    }

    #[test]
    fn hub_and_gateway_do_not_know_one_another() {
        assert!(!uses("floe-hub", "floe-gateway") && !uses("floe-gateway", "floe-hub"));
        assert!(!uses("floe-hub", "floe-slice"), "the hub needs no Slice");
    }

    #[test]
    fn nothing_uses_the_command_and_only_the_command_uses_the_lab() {
        for package in ["floe", "floe-hub", "floe-lab", "floe-tests"] {
            assert!(!uses(package, "floe-cli"), "{package}");
            assert!(!uses(package, "floe-lab"), "{package}");
        }
        assert!(!uses("floe-cli", "floe-lab"), "it is not optional here");
        let optional = "[dependencies]\nfloe-lab = { workspace = true, optional = true }";
        assert!(findings_in("floe-cli", optional).is_empty());
    }

    #[test]
    fn an_arrow_cannot_hide_behind_another_name_or_a_target() {
        let renamed = "[dependencies]\nbytes = { package = \"floe-slice\", path = \"../slice\" }";
        assert_eq!(findings_in("floe-wire", renamed).len(), 1);
        let of_target = "[target.'cfg(unix)'.dependencies]\nfloe-hub.workspace = true";
        assert_eq!(findings_in("floe-wire", of_target).len(), 1);
    }

    #[test]
    fn tests_and_build_scripts_may_join_what_the_code_keeps_apart() {
        assert!(
            findings_in("floe-codegen", "[dev-dependencies]\nfloe.workspace = true").is_empty()
        );
        assert!(
            findings_in(
                "floe-hub",
                "[build-dependencies]\nfloe-codegen.workspace = true"
            )
            .is_empty()
        );
        assert_eq!(
            findings_in(
                "floe",
                "[build-dependencies]\nfloe-codegen.workspace = true"
            )
            .len(),
            1
        );
    }

    #[test]
    fn a_pure_package_takes_in_no_library_of_the_world() {
        assert_eq!(
            findings_in("floe-wire", "[dependencies]\ntokio = \"1\"").len(),
            1
        );
        assert!(uses("floe-wire", "bytes") && uses("floe-hub", "tokio"));
    }

    #[test]
    fn an_unknown_package_is_found_except_among_the_examples() {
        let text = "[package]\nname = \"greeter\"\n[dependencies]\nfloe.workspace = true";
        assert_eq!(
            findings(&[File::new("crates/greeter/Cargo.toml", text)]).len(),
            1
        );
        assert_eq!(
            findings(&[File::new("examples/greeter/Cargo.toml", text)]).len(),
            0
        );
    }
}
