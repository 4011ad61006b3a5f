//! Circles: the nouns of a crate do not import one another in a circle.
//!
//! A noun is a folder or a file directly below `src`. Where such a folder holds nouns of its own, as `core` of the hub does,
//! the nouns are those. Inside a noun, modules may know one another; between nouns the arrows run one way, so that a reader
//! can learn the crate from the bottom up.

use std::collections::{BTreeMap, BTreeSet};

use crate::code;
use crate::tree::File;

/// Circles between the nouns of the crates that are held to have none.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    CRATES
        .iter()
        .flat_map(|layout| layout.circles(files))
        .collect()
}

/// A crate, and how it is divided.
struct Layout {
    source: &'static str,
    /// Folders that are no nouns: what they hold is.
    groups: &'static [&'static str],
}

const CRATES: [Layout; 6] = [
    Layout {
        source: "crates/amqp/src/",
        groups: &[],
    },
    Layout {
        source: "crates/runtime/src/",
        groups: &[],
    },
    Layout {
        source: "crates/hub/src/",
        groups: &["core", "service"],
    },
    Layout {
        source: "crates/wire/src/",
        groups: &[],
    },
    Layout {
        source: "crates/giop/src/",
        groups: &[],
    },
    Layout {
        source: "crates/server/src/",
        groups: &[],
    },
];

/// A path of modules, from the root of the crate.
type Path = Vec<String>;

/// The imports of a noun: each other noun, with the first place that does.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

impl Layout {
    fn circles(&self, files: &[File]) -> Vec<String> {
        let arrows = self.arrows(files);
        let mut known = BTreeSet::new();
        let mut findings = Vec::new();
        for noun in arrows.keys() {
            let circle = circle_of(noun, &arrows);
            if circle.len() < 2 || !known.insert(circle.clone()) {
                continue;
            }
            let inside = circle.iter().flat_map(|from| {
                let targets = arrows[from].iter().filter(|(to, _)| circle.contains(*to));
                targets.map(move |(to, place)| format!("{from} -> {to} ({place})"))
            });
            let inside: Vec<_> = inside.collect();
            findings.push(format!(
                "{}: expected the nouns not to import one another in a circle, got {}; move what both need below them, \
                 or turn an arrow round with a trait or a generic parameter",
                self.source,
                inside.join(", ")
            ));
        }
        findings
    }

    fn arrows(&self, files: &[File]) -> Arrows {
        let sources: Vec<_> = files
            .iter()
            .filter_map(|file| self.source_of(file))
            .collect();
        let modules: BTreeSet<Path> = sources.iter().map(|source| source.module.clone()).collect();
        let maps: BTreeMap<Path, BTreeMap<String, Path>> = sources
            .iter()
            .filter(|source| self.is_map(&source.module))
            .map(|source| (source.module.clone(), source.reexports(&modules)))
            .collect();
        let mut arrows = Arrows::new();
        for source in &sources {
            let Some(from) = self.noun(&source.module) else {
                continue;
            };
            let own = arrows.entry(from.clone()).or_default();
            for (line, path) in source.paths(&modules) {
                let noun = self.resolve(path, &modules, &maps);
                if let Some(to) = noun.filter(|to| *to != from) {
                    let place = || format!("{}:{line}", source.file.path);
                    own.entry(to).or_insert_with(place);
                }
            }
        }
        arrows
    }

    fn source_of<'a>(&self, file: &'a File) -> Option<Source<'a>> {
        let path = file.path.strip_prefix(self.source)?.strip_suffix(".rs")?;
        let mut module: Path = path.split('/').map(str::to_owned).collect();
        if module.iter().any(|part| part == "tests") {
            return None;
        }
        if matches!(module.last()?.as_str(), "mod" | "lib") {
            module.pop();
        }
        Some(Source {
            file,
            code: code::only(&file.text),
            module,
        })
    }

    /// Returns true if a module only names the nouns below it.
    fn is_map(&self, module: &[String]) -> bool {
        match module {
            [] => true,
            [group] => self.groups.contains(&group.as_str()),
            _ => false,
        }
    }

    fn noun(&self, module: &[String]) -> Option<String> {
        let first = (1..=module.len()).find(|len| !self.is_map(&module[..*len]))?;
        Some(module[..first].join("/"))
    }

    /// The noun that a path from the root leads to; `None` if it leads out of the crate, or to nothing that is known.
    fn resolve(
        &self,
        path: Path,
        modules: &BTreeSet<Path>,
        maps: &BTreeMap<Path, BTreeMap<String, Path>>,
    ) -> Option<String> {
        let (mut path, mut at) = (path, 0);
        for _ in 0..HOPS_MAX {
            while at < path.len() && modules.contains(&path[..=at]) {
                at += 1;
            }
            let module = &path[..at];
            if !self.is_map(module) {
                return self.noun(module);
            }
            // A name that the map re-exports.
            path = maps.get(module)?.get(path.get(at)?)?.clone();
            at = 0;
        }
        None
    }
}

/// A re-export may lead to another one, but not for ever.
const HOPS_MAX: usize = 8;

/// A file of the crate.
struct Source<'a> {
    file: &'a File,
    code: String,
    module: Path,
}

impl Source<'_> {
    /// The paths that stand in the code, from the root of the crate, with their lines.
    fn paths(&self, modules: &BTreeSet<Path>) -> Vec<(usize, Path)> {
        let uses = self
            .uses(modules)
            .into_iter()
            .map(|(line, path, _)| (line, path));
        uses.chain(self.inline(modules)).collect()
    }

    /// The names that a map gives to what is below it.
    fn reexports(&self, modules: &BTreeSet<Path>) -> BTreeMap<String, Path> {
        let uses = self.uses(modules).into_iter();
        uses.map(|(_, path, name)| (name, path)).collect()
    }

    /// Each path of this crate that is imported, and the name that it has here.
    fn uses(&self, modules: &BTreeSet<Path>) -> Vec<(usize, Path, String)> {
        let mut uses = Vec::new();
        for (at, _) in self.code.match_indices("use ") {
            let before = self.code[..at].chars().next_back();
            let tree = &self.code[at + "use ".len()..];
            let Some(end) = tree
                .find(';')
                .filter(|_| before.is_none_or(char::is_whitespace))
            else {
                continue;
            };
            let line = code::line_at(&self.code, at);
            for leaf in leaves(&tree[..end]) {
                let (path, alias) = match leaf.split_once(" as ") {
                    Some((path, alias)) => (path.trim(), Some(alias.trim())),
                    None => (leaf.trim(), None),
                };
                let path: Path = path
                    .split("::")
                    .map(|part| part.trim().to_owned())
                    .collect();
                let name =
                    alias.map_or_else(|| path.last().cloned(), |alias| Some(alias.to_owned()));
                if let Some(path) = self.resolved(path, modules) {
                    uses.push((line, path, name.unwrap_or_default()));
                }
            }
        }
        uses
    }

    /// Paths outside of imports: those that start with `crate` or `super`.
    fn inline(&self, modules: &BTreeSet<Path>) -> Vec<(usize, Path)> {
        let starts = ["crate::", "super::"];
        let hits = starts
            .iter()
            .flat_map(|start| self.code.match_indices(start));
        let hits = hits.filter(|(at, _)| {
            let before = self.code[..*at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
        });
        hits.filter_map(|(at, _)| {
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let rest = &self.code[at..];
            let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
            let parts = rest[..end].split("::").filter(|part| !part.is_empty());
            let path = self.resolved(parts.map(str::to_owned).collect(), modules)?;
            Some((code::line_at(&self.code, at), path))
        })
        .collect()
    }

    /// The path from the root of the crate; `None` if it starts with another crate.
    fn resolved(&self, path: Path, modules: &BTreeSet<Path>) -> Option<Path> {
        let first = path.first()?;
        let mut base = match first.as_str() {
            "crate" => Path::new(),
            _ => self.module.clone(),
        };
        if !matches!(first.as_str(), "crate" | "super" | "self") {
            // One of its own modules, or something foreign.
            base.extend_from_slice(&path);
            return modules
                .contains(&base[..=self.module.len()])
                .then_some(base);
        }
        let mut rest = &path[..];
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "super" => drop(base.pop()),
                "crate" | "self" => {}
                _ => break,
            }
            rest = others;
        }
        base.extend_from_slice(rest);
        Some(base)
    }
}

/// The single paths of a tree of imports: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn leaves(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        return vec![tree.trim().to_owned()];
    };
    let prefix = tree[..open].trim();
    let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let mut depth = 0;
    let parts = inside.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| leaves(part.trim()))
        .map(|leaf| format!("{prefix}{leaf}"))
        .collect()
}

/// The nouns that one reaches and that reach it.
fn circle_of(noun: &str, arrows: &Arrows) -> BTreeSet<String> {
    let reached = reached_from(noun, arrows);
    reached
        .iter()
        .filter(|other| reached_from(other, arrows).contains(noun))
        .cloned()
        .collect()
}

fn reached_from(noun: &str, arrows: &Arrows) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![noun.to_owned()];
    while let Some(next) = waiting.pop() {
        for to in arrows.get(&next).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.clone()) {
                waiting.push(to.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_in(files: &[(&str, &str)]) -> Vec<String> {
        let layout = Layout {
            source: "crates/x/src/",
            groups: &["core", "service"],
        };
        let file = |(path, text): &(&str, &str)| File::new(&format!("crates/x/src/{path}"), text);
        layout.circles(&files.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn a_module_that_is_called_as_another_noun_is_no_arrow() {
        let found = findings_in(&[
            (
                "settings/mod.rs",
                "mod adapter;\npub use adapter::Settings;",
            ),
            ("settings/adapter.rs", ""),
            ("adapter.rs", "use crate::settings::Settings;"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn two_nouns_that_import_one_another_are_a_circle() {
        let found = findings_in(&[
            ("proxy/mod.rs", "use crate::connection::Core;"),
            ("connection.rs", "\nuse crate::proxy::route::Found;"),
            ("proxy/route.rs", ""),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("connection -> proxy (crates/x/src/connection.rs:2)"),
            "{found:?}"
        );
    }

    #[test]
    fn a_circle_may_go_round_several_nouns_and_is_found_once() {
        let found = findings_in(&[
            ("a.rs", "use crate::{b::B, d};"),
            ("b.rs", "fn f() { crate::c::g() }"),
            ("c.rs", "use super::a::A;"),
            ("d.rs", ""),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(!found[0].contains("-> d"), "d is outside: {found:?}");
    }

    #[test]
    fn a_circle_cannot_hide_behind_a_name_of_the_map() {
        let found = findings_in(&[
            ("lib.rs", "mod a;\nmod b;\npub use a::{A as First, Other};"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "struct B(crate::First);"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn in_a_group_the_nouns_are_its_parts() {
        let circle = findings_in(&[
            ("core/queue.rs", "use super::topic::Topic;"),
            ("core/topic.rs", "use crate::core::Queue;"),
            ("core/mod.rs", "mod queue;\npub use queue::Queue;"),
        ]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        let down = findings_in(&[
            ("core/queue.rs", ""),
            ("core/mod.rs", "mod queue;\npub use queue::Queue;"),
            ("service/hub.rs", "use crate::core::Queue;"),
        ]);
        assert!(down.is_empty(), "{down:?}");
    }

    #[test]
    fn modules_of_one_noun_tests_and_comments_may_go_round() {
        let found = findings_in(&[
            ("a/mod.rs", "use b::B;\nmod b;"),
            ("a/b.rs", "use super::A;\n// use crate::c::C;"),
            ("c.rs", "use crate::a::A;\nuse std::fmt;"),
            ("d.rs", "use crate::c::C;"),
            ("c/tests.rs", "use crate::d::D;"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
