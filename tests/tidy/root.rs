//! The root of crate `floe`: it has the names that most programs need, and its modules have the others.

use crate::code;
use crate::tree::File;

/// That the root has more names than a reader takes in.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let Some(root) = files.iter().find(|file| file.path == ROOT) else {
        return vec![format!("{ROOT}: expected one, got none")];
    };
    let count = names(&code::only(&root.text)).len();
    match count {
        ..=NAMES_MAX => Vec::new(),
        _ => vec![format!(
            "{ROOT}: expected at most {NAMES_MAX} public names in the root, got {count}; put what few programs need into a \
             module of its topic, and what only generated code needs into `codegen`"
        )],
    }
}

/// The names that `pub use` brings into a file.
fn names(code: &str) -> Vec<&str> {
    let statements = code.split("pub use ").skip(1);
    let paths = statements.filter_map(|rest| rest.split(';').next());
    let words = paths.flat_map(|path| match path.split_once('{') {
        Some((_, list)) => list.trim_end().trim_end_matches('}').split(',').collect(),
        None => vec![path.rsplit("::").next().unwrap_or(path)],
    });
    words
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect()
}

const ROOT: &str = "crates/runtime/src/lib.rs";
const NAMES_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_one_by_one() {
        let code = "mod a;\npub use a::A;\npub use b::{\n    B, C,\n    d,\n};\nuse c::E;\n";
        assert_eq!(names(code), ["A", "B", "C", "d"]);
    }

    #[test]
    fn a_root_with_too_many_names_is_found() {
        let of = |count: usize| {
            let names: Vec<_> = (0..count).map(|number| format!("N{number}")).collect();
            findings(&[File::new(
                ROOT,
                &format!("pub use a::{{{}}};", names.join(", ")),
            )])
        };
        assert!(of(NAMES_MAX).is_empty());
        let found = of(NAMES_MAX + 1);
        assert!(found[0].contains("got 41"), "{found:?}");
    }
}
