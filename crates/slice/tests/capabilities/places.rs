//! Diagnostics point at the right place.

use floe_slice::{Code, Compilation, MemoryLoader, Options, compile};

use crate::compile_text;

/// The place of the only diagnostic: path, line, column, and the text that is marked.
fn place(compilation: &Compilation) -> (String, usize, usize, String) {
    let [only] = compilation.diagnostics.as_slice() else {
        panic!("{}", compilation.render());
    };
    let span = only.span.expect("a place");
    let position = compilation.sources.position(span);
    (
        position.path.display().to_string(),
        position.line,
        position.column,
        compilation.sources.text(span).to_owned(),
    )
}

fn place_in(text: &str) -> (usize, usize, String) {
    let (_, line, column, marked) = place(&compile_text(text));
    (line, column, marked)
}

#[test]
fn lines_and_columns_count_from_one() {
    assert_eq!(
        place_in("module M {\n  struct S { Nope n; } }"),
        (2, 14, "Nope".into())
    );
}

#[test]
fn a_byte_order_mark_does_not_count() {
    assert_eq!(
        place_in("\u{feff}module M { sequence<Nope> S; }"),
        (1, 21, "Nope".into())
    );
}

#[test]
fn columns_are_characters_and_not_bytes() {
    assert_eq!(
        place_in("module M { /* äöü € 😀 */ sequence<Nope> S; }"),
        (1, 35, "Nope".into())
    );
}

#[test]
fn crlf_is_one_line_end() {
    assert_eq!(
        place_in("module M {\r\n\r\n sequence<Nope> S;\r\n}"),
        (3, 11, "Nope".into())
    );
}

#[test]
fn a_missing_semicolon_is_shown_where_it_belongs() {
    let (line, column, marked) = place_in("module M {\n  sequence<int> S\n\n  sequence<int> T; }");
    assert_eq!((line, column, marked.as_str()), (2, 18, ""));
}

#[test]
fn the_text_of_a_macro_is_shown_where_it_is_used() {
    let text = "#define MEMBER Nope n;\nmodule M { struct S { int i;\n  MEMBER } }";
    assert_eq!(place_in(text), (3, 3, "MEMBER".into()));
}

#[test]
fn the_argument_of_a_macro_is_shown_itself() {
    let text = "#define MEMBER(type) type n;\nmodule M { struct S { MEMBER(Nope) } }";
    assert_eq!(place_in(text), (2, 30, "Nope".into()));
}

#[test]
fn lines_after_a_continued_directive_are_right() {
    let text = "#define X \\\n 1 \\\n + 2\nmodule M { sequence<Nope> S; }";
    assert_eq!(place_in(text), (4, 21, "Nope".into()));
}

#[test]
fn an_error_in_an_included_file_names_that_file_and_who_includes_it() {
    let files = MemoryLoader::new()
        .with("main.ice", "\n#include \"part.ice\"\n")
        .with("part.ice", "module M {\n\tsequence<Nope> S; }");
    let compilation = compile(&Options::default(), &files, &["main.ice".into()]);
    assert_eq!(
        place(&compilation),
        ("part.ice".into(), 2, 11, "Nope".into())
    );
    assert!(compilation.render().contains("included from main.ice:2"));
}

#[test]
fn an_escape_is_shown_inside_its_string() {
    let text = "module M { const string S = \"äb\\q\"; }";
    assert_eq!(place_in(text), (1, 32, "\\q".into()));
}

#[test]
fn text_that_is_not_utf8_is_reported_with_its_byte() {
    let compilation = floe_slice::check_source(b"module M {\n  // caf\xe9\n  caf\xe9\n}");
    let [only] = compilation.diagnostics.as_slice() else {
        panic!("{}", compilation.render());
    };
    assert_eq!(only.code, Code::InvalidUtf8);
    assert!(only.message.contains("0xe9"));
    let position = compilation.sources.position(only.span.expect("a place"));
    assert_eq!((position.line, position.column), (3, 6));
}

#[test]
fn a_comment_that_is_not_utf8_is_passed_over() {
    let source = b"/** caf\xe9 */ module M {\n  // gr\xfc\xdfe\n  struct S { int i; }\n}";
    let compilation = floe_slice::check_source(source);
    assert_eq!(compilation.render(), "");
    assert_eq!(compilation.model.definitions.len(), 1);
}

#[test]
fn long_lines_and_control_characters_are_made_printable() {
    let text = format!(
        "module M {{ /*{}\u{1b}[31m*/ sequence<Nope> S; {} }}",
        "x".repeat(500),
        " ".repeat(500)
    );
    let rendered = compile_text(&text).render();
    assert!(
        rendered.lines().all(|line| line.chars().count() < 150),
        "{rendered}"
    );
    assert!(!rendered.contains('\u{1b}'));
    let caret = rendered
        .lines()
        .find(|line| line.contains("^^^^"))
        .expect("a caret");
    let excerpt = rendered
        .lines()
        .find(|line| line.contains("Nope> S"))
        .expect("an excerpt");
    let under: String = excerpt
        .chars()
        .skip(caret.find('^').expect("a caret"))
        .take(4)
        .collect();
    assert_eq!(under, "Nope");
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let compilation =
        compile_text("module M { struct S { int i; int i; } [\"x\\n\"] interface I { } }");
    for diagnostic in &compilation.diagnostics {
        let plain = diagnostic.render(&compilation.sources);
        let mut colored = diagnostic.render_colored(&compilation.sources);
        assert!(colored.contains("\u{1b}[1;3"));
        for code in ["[1;31m", "[1;33m", "[1;34m", "[0m"] {
            colored = colored.replace(&format!("\u{1b}{code}"), "");
        }
        let trimmed = |text: &str| -> Vec<String> {
            text.lines()
                .map(|line| line.trim_end().to_owned())
                .collect()
        };
        assert_eq!(trimmed(&colored), trimmed(&plain));
    }
}
