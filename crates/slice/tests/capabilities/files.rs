//! Includes, translation units, and what is reported about files.

use std::io;
use std::path::{Path, PathBuf};

use floe_slice::{Code, Compilation, Language, Loader, MemoryLoader, Options, compile};

use crate::codes;

fn compile_files(files: &[(&str, &str)], mains: &[&str], dirs: &[&str]) -> Compilation {
    let mut loader = MemoryLoader::new();
    for (path, text) in files {
        loader.insert(path, *text);
    }
    let options = Options {
        include_dirs: dirs.iter().map(PathBuf::from).collect(),
        ..Options::default()
    };
    let mains: Vec<PathBuf> = mains.iter().map(PathBuf::from).collect();
    compile(&options, &loader, &mains)
}

#[test]
fn included_definitions_are_in_the_model_but_not_main() {
    let compilation = compile_files(
        &[
            (
                "app/main.ice",
                "#include <lib/base.ice>\n#include \"near.ice\"\nmodule M { struct S { Base b; Near n; } }",
            ),
            ("inc/lib/base.ice", "module M { struct Base { int i; } }"),
            ("app/near.ice", "module M { struct Near { int i; } }"),
        ],
        &["app/main.ice"],
        &["elsewhere", "inc"],
    );
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
    let paths: Vec<_> = compilation
        .dependencies
        .iter()
        .map(|p| p.to_str().unwrap())
        .collect();
    assert_eq!(paths, ["app/main.ice", "inc/lib/base.ice", "app/near.ice"]);
    let mains: Vec<bool> = compilation.model.files.iter().map(|f| f.is_main).collect();
    assert_eq!(mains, [true, false, false]);
    let base = compilation.model.find("::M::Base").unwrap();
    assert_eq!(compilation.model.definition(base).file.0, 1);
}

#[test]
fn warnings_in_files_of_other_projects_are_silent_unless_asked_for() {
    // A name with an underscore is a warning in a file that is compiled itself.
    let files = [
        (
            "main.ice",
            "#include <lib.ice>\n#include \"own.ice\"\n[\"ours\"] module M { interface I {} }",
        ),
        (
            "inc/lib.ice",
            "#pragma once\n#include \"below.ice\"\n[\"theirs\"] module L { interface I {} }",
        ),
        (
            "inc/below.ice",
            "#pragma once\n[\"below\"] module B { interface I {} }",
        ),
        (
            "own.ice",
            "#pragma once\n[\"beside\"] module O { interface I {} }",
        ),
    ];
    let warned = |mains: &[&str], warn_foreign| {
        let mut loader = MemoryLoader::new();
        for (path, text) in files {
            loader.insert(path, text);
        }
        let options = Options {
            include_dirs: vec!["inc".into()],
            warn_foreign,
            ..Options::default()
        };
        let mains: Vec<PathBuf> = mains.iter().map(PathBuf::from).collect();
        let compilation = compile(&options, &loader, &mains);
        assert!(!compilation.has_errors(), "{}", compilation.render());
        let text = compilation.render();
        ["ours", "beside", "theirs", "below"].map(|word| text.contains(&format!("\"{word}\"")))
    };
    assert_eq!(warned(&["main.ice"], false), [true, true, false, false]);
    assert_eq!(warned(&["main.ice"], true), [true; 4]);
    // Compiled itself, the library is a project of ours, and so is what it includes from beside it.
    assert_eq!(warned(&["main.ice", "inc/lib.ice"], false), [true; 4]);
}

#[test]
fn errors_in_files_of_other_projects_are_shown() {
    let compilation = compile_files(
        &[
            (
                "main.ice",
                "#include <lib.ice>\nmodule M { interface I {} }",
            ),
            ("inc/lib.ice", "module L { struct S { Missing m; } }"),
        ],
        &["main.ice"],
        &["inc"],
    );
    assert!(compilation.has_errors());
}

#[test]
fn a_guard_or_pragma_once_allows_two_inclusions() {
    let guarded = "#ifndef G\n#define G\nmodule M { struct S { int i; } }\n#endif";
    let once = "#pragma once\nmodule M { struct T { int i; } }";
    let compilation = compile_files(
        &[
            (
                "main.ice",
                "#include \"g.ice\"\n#include \"o.ice\"\n#include \"g.ice\"\n#include \"./o.ice\"",
            ),
            ("g.ice", guarded),
            ("o.ice", once),
        ],
        &["main.ice"],
        &[],
    );
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
}

#[test]
fn two_inclusions_without_protection_are_an_error() {
    let compilation = compile_files(
        &[
            ("main.ice", "#include \"a.ice\"\n#include \"a.ice\""),
            ("a.ice", "module M { struct S { int i; } interface I { } }"),
        ],
        &["main.ice"],
        &[],
    );
    assert_eq!(
        codes(&compilation),
        [Code::Redefinition, Code::Redefinition]
    );
}

#[test]
fn units_that_include_the_same_file_share_its_definitions() {
    let compilation = compile_files(
        &[
            (
                "a.ice",
                "#include \"base.ice\"\nmodule M { struct A { Base b; } }",
            ),
            (
                "b.ice",
                "#include \"base.ice\"\nmodule M { struct B { Base b; } }",
            ),
            (
                "base.ice",
                "module M { struct Base { int i; } interface I; interface I { } }",
            ),
        ],
        &["a.ice", "b.ice"],
        &[],
    );
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
    assert_eq!(compilation.model.definitions.len(), 4);
    assert_eq!(compilation.dependencies.len(), 3);
}

#[test]
fn a_main_file_that_was_included_before_is_not_read_twice() {
    let compilation = compile_files(
        &[
            (
                "a.ice",
                "#include \"b.ice\"\nmodule M { struct A { B b; } }",
            ),
            ("b.ice", "module M { struct B { int i; } }"),
        ],
        &["a.ice", "b.ice", "./b.ice"],
        &[],
    );
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
    assert!(compilation.model.files.iter().all(|file| file.is_main));
    assert_eq!(compilation.model.definitions.len(), 2);
}

#[test]
fn macros_end_with_their_unit() {
    let compilation = compile_files(
        &[
            ("a.ice", "#define X 1\nmodule A { }"),
            (
                "b.ice",
                "#ifdef X\nnonsense\n#endif\nmodule B { const int N = 5; }",
            ),
        ],
        &["a.ice", "b.ice"],
        &[],
    );
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
}

#[test]
fn a_unit_does_not_see_what_it_does_not_include() {
    let compilation = compile_files(
        &[
            ("a.ice", "module M { struct A { int i; } }"),
            ("b.ice", "module M { struct B { A a; } }"),
        ],
        &["a.ice", "b.ice"],
        &[],
    );
    assert_eq!(codes(&compilation), [Code::UndefinedName]);
    let help = compilation.diagnostics[0].help.as_deref().unwrap();
    assert_eq!(help, "include the file that defines `::M::A`");
}

#[test]
fn units_that_define_one_name_differently_clash() {
    let compilation = compile_files(
        &[
            ("a.ice", "module M { struct S { int i; } }"),
            ("b.ice", "module M { struct S { string s; } }"),
        ],
        &["a.ice", "b.ice"],
        &[],
    );
    assert_eq!(codes(&compilation), [Code::Redefinition]);
}

#[test]
fn a_wrong_file_is_reported_once_for_all_units() {
    let compilation = compile_files(
        &[
            (
                "a.ice",
                "#include \"base.ice\"\nmodule M { struct A { Bad b; } }",
            ),
            (
                "b.ice",
                "#include \"base.ice\"\nmodule M { struct B { Bad b; } }",
            ),
            (
                "base.ice",
                "module M { struct S { Nope n; } sequence<Nope> Bad; }",
            ),
        ],
        &["a.ice", "b.ice"],
        &[],
    );
    assert_eq!(
        codes(&compilation),
        [Code::UndefinedName, Code::UndefinedName]
    );
}

#[test]
fn checks_of_main_files_apply_to_a_main_file_that_is_included_first() {
    let files = MemoryLoader::new()
        .with("a.ice", "#include \"b.ice\"")
        .with("b.ice", "module M { struct my_struct { int i; } }");
    let options = Options {
        language: Language::V37,
        ..Options::default()
    };
    let alone = compile(&options, &files, &["a.ice".into()]);
    assert!(alone.diagnostics.is_empty(), "{}", alone.render());
    let both = compile(&options, &files, &["a.ice".into(), "b.ice".into()]);
    assert_eq!(codes(&both), [Code::BadName]);
}

/// Files below `/here`, which is also the current directory, and which `/link` leads to.
struct Linked(MemoryLoader);

impl Loader for Linked {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = self.canonical(path).unwrap_or_default();
        self.0.load(&path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let path = Path::new("/here").join(path);
        let inside = path.strip_prefix("/link").or(path.strip_prefix("/here"));
        Some(Path::new("/here").join(inside.ok()?))
    }
}

#[test]
fn a_file_by_several_paths_is_one_file() {
    let files = MemoryLoader::new()
        .with(
            "/here/b.ice",
            "#pragma once\nmodule M { struct B { int i; } }",
        )
        .with(
            "/here/c.ice",
            "#include \"b.ice\"\nmodule M { struct C { B b; } }",
        )
        .with(
            "/here/a.ice",
            "#include \"b.ice\"\n#include <c.ice>\nmodule M { struct A { B b; C c; } }",
        );
    let options = Options {
        include_dirs: vec!["/link".into()],
        ..Options::default()
    };
    let mains = ["a.ice".into(), "/here/b.ice".into(), "./a.ice".into()];
    let compilation = compile(&options, &Linked(files), &mains);
    assert_eq!(compilation.render(), "");
    let files = compilation.model.files.iter();
    let files: Vec<(&str, bool)> = files
        .map(|file| (file.path.to_str().unwrap(), file.is_main))
        .collect();
    let expected = [("a.ice", true), ("b.ice", true), ("/link/c.ice", false)];
    assert_eq!(files, expected);
}

#[test]
fn files_in_memory_stay_two_where_a_link_on_disk_would_make_them_one() {
    let files = MemoryLoader::new()
        .with("/here/b.ice", "module M { struct Here { int i; } }")
        .with("/link/b.ice", "module M { struct Link { int i; } }")
        .or(Linked(MemoryLoader::new()));
    let mains = ["/here/b.ice".into(), "/link/b.ice".into()];
    let compilation = compile(&Options::default(), &files, &mains);
    assert_eq!(compilation.render(), "");
    for name in ["::M::Here", "::M::Link"] {
        assert!(compilation.model.find(name).is_some(), "{name}");
    }
}

#[test]
fn a_file_that_includes_itself_ends_with_one_error() {
    let compilation = compile_files(
        &[(
            "a.ice",
            "#include \"a.ice\"\n#include \"a.ice\"\nmodule M {",
        )],
        &["a.ice"],
        &[],
    );
    assert_eq!(codes(&compilation), [Code::LimitExceeded]);
}

#[test]
fn includes_that_double_at_each_level_are_bounded() {
    let mut loader = MemoryLoader::new();
    for level in 0..60 {
        let next = format!("#include \"{}.ice\"\n", level + 1).repeat(2);
        loader.insert(format!("{level}.ice"), next);
    }
    loader.insert("60.ice", "");
    let compilation = compile(&Options::default(), &loader, &["0.ice".into()]);
    assert_eq!(codes(&compilation), [Code::LimitExceeded]);
}

#[test]
fn a_missing_main_file_is_reported_and_the_others_are_compiled() {
    let compilation = compile_files(
        &[("b.ice", "module B { const int N = 1; }")],
        &["a.ice", "b.ice"],
        &[],
    );
    assert_eq!(codes(&compilation), [Code::FileNotReadable]);
    assert_eq!(compilation.model.definitions.len(), 1);
    assert!(compilation.render().contains("cannot read `a.ice`"));
}

#[test]
fn built_in_files_stand_behind_those_of_the_user() {
    let user = MemoryLoader::new().with(
        "main.ice",
        "#include <Ice/Identity.ice>\nmodule M { struct S { Ice::Identity id; } }",
    );
    let built_in = MemoryLoader::new().with(
        "<floe>/Ice/Identity.ice",
        "module Ice { struct Identity { string name; string category; } }",
    );
    let options = Options {
        include_dirs: vec!["<floe>".into()],
        ..Options::default()
    };
    let compilation = compile(&options, &user.or(built_in), &["main.ice".into()]);
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
}

#[test]
fn a_file_that_cannot_be_read_is_not_searched_further() {
    struct Denied;
    impl Loader for Denied {
        fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
            match path.to_str() {
                Some("main.ice") => Ok(b"#include \"secret.ice\"\n".to_vec()),
                _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "denied")),
            }
        }
    }
    let compilation = compile(&Options::default(), &Denied, &["main.ice".into()]);
    assert_eq!(codes(&compilation), [Code::IncludeNotFound]);
    assert!(compilation.diagnostics[0].message.contains("denied"));
}

#[test]
fn names_that_a_missing_file_may_define_are_not_reported() {
    let text = "#include \"lost.ice\"\nmodule M { struct S { Lost l; int i; int i; } }";
    let compilation = compile_files(&[("a.ice", text)], &["a.ice"], &[]);
    assert_eq!(
        codes(&compilation),
        [Code::IncludeNotFound, Code::Redefinition]
    );
}

#[test]
fn classes_that_one_macro_defines_need_ids_of_their_own() {
    let text = "#define TWO class A(1) { } class B(1) { }\nmodule M { TWO }";
    let compilation = compile_files(&[("a.ice", text)], &["a.ice"], &[]);
    assert_eq!(codes(&compilation), [Code::BadCompactId]);
}

#[test]
fn a_compact_id_is_unique_in_a_translation_unit() {
    let a = ("a.ice", "module A { class C(7) { } }");
    let b = ("b.ice", "module B { class C(7) { } }");
    let compilation = compile_files(&[a, b], &["a.ice", "b.ice"], &[]);
    assert_eq!(compilation.render(), "");
    let b = ("b.ice", "#include \"a.ice\"\nmodule B { class C(7) { } }");
    for mains in [&["b.ice"][..], &["a.ice", "b.ice"]] {
        let text = compile_files(&[a, b], mains, &[]).render();
        assert!(text.contains("the compact id 7 is taken by `C`"), "{text}");
    }
}
