//! No text makes the front-end panic, hang, or exhaust the stack.

use floe_slice::{Code, Compilation, Language, MemoryLoader, Options, check_source, compile};
use proptest::prelude::*;

/// How deep the nested inputs nest.
const DEPTH: usize = 100_000;

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let inputs = [
        "module A { ".repeat(DEPTH),
        format!("module {}A {{ }}", "A::".repeat(DEPTH)),
        "#if 1\n".repeat(DEPTH),
        format!("#if {}", "(".repeat(DEPTH)),
        format!("#if {}1", "!".repeat(DEPTH)),
        format!("#if {}", "'\\".repeat(DEPTH)),
        format!("#if {}1", "1?".repeat(DEPTH)),
        format!("module A {{ struct S {}", "{".repeat(DEPTH)),
        format!("#define F(x) x\nmodule A {{ {}", "F(".repeat(DEPTH)),
        format!("module A {{ exception E {{ {}", "optional(".repeat(DEPTH)),
    ];
    for input in inputs {
        let compilation = check_source(input.as_bytes());
        assert!(compilation.has_errors(), "{}", &input[..40]);
    }
}

#[test]
fn long_chains_of_types_are_refused() {
    let structs = chain("struct T0 { int i; }", |n| {
        format!("struct T{n} {{ T{0} a; T{0} b; }}", n - 1)
    });
    let interfaces = chain("interface T0 { }", |n| {
        format!("interface T{n} extends T{} {{ }}", n - 1)
    });
    let exceptions = chain("exception T0 { }", |n| {
        format!("exception T{n} extends T{} {{ }}", n - 1)
    });
    let sequences = chain("sequence<int> T0;", |n| {
        format!("sequence<T{}> T{n};", n - 1)
    });
    for input in [structs, interfaces, exceptions, sequences] {
        let compilation = check_source(input.as_bytes());
        assert!(compilation.has_errors());
        let mut codes = compilation.diagnostics.iter().map(|one| one.code);
        assert!(codes.all(|code| code == Code::LimitExceeded));
    }
}

fn chain(first: &str, next: impl Fn(usize) -> String) -> String {
    let rest: String = (1..3000).map(next).collect();
    format!("module A {{ {first} {rest} }}")
}

#[test]
fn keys_that_double_at_each_level_are_judged_in_time() {
    let structs: String = (1..90)
        .map(|n| format!("struct S{n} {{ S{0} a; S{0} b; }}", n - 1))
        .collect();
    let input = format!("module A {{ struct S0 {{ int i; }} {structs} dictionary<S89, int> D; }}");
    assert!(!check_source(input.as_bytes()).has_errors());
}

#[test]
fn many_errors_are_cut_off() {
    let input = format!("module A {{ struct S {{ {} }} }}", "Nope x; ".repeat(DEPTH));
    let compilation = check_source(input.as_bytes());
    assert!(compilation.diagnostics.len() <= 501);
    let last = compilation
        .diagnostics
        .last()
        .expect("a note about the rest");
    assert_eq!(last.code, Code::LimitExceeded);
}

#[test]
fn many_warnings_are_cut_off_and_are_no_error() {
    let uses: String = (0..600)
        .map(|n| format!("struct S{n} {{ Old old; }} "))
        .collect();
    let text = |more: &str| {
        format!("module A {{ [\"deprecated\"] struct Old {{ int x; }} {uses} {more} }}")
    };
    let compilation = check_source(text("").as_bytes());
    assert!(!compilation.has_errors());
    let last = compilation.diagnostics.last().expect("warnings");
    assert_eq!(last.code, Code::OmittedWarnings);
    assert!(last.message.contains("100 more"), "{}", last.message);
    assert_eq!(compilation.diagnostics.len(), 501);
    // An error behind them is not among what is left out.
    let compilation = check_source(text("struct Empty { }").as_bytes());
    let errors = compilation.diagnostics.iter().filter(|it| it.is_error());
    let errors: Vec<Code> = errors.map(|error| error.code).collect();
    assert_eq!(errors, [Code::EmptyDefinition]);
}

#[test]
fn findings_that_are_told_once_are_not_counted_as_left_out() {
    let uses = "struct S { Old old; } ".to_owned()
        + &(1..500)
            .map(|n| format!("struct S{n} {{ Old old; }} "))
            .collect::<String>();
    let part = format!("module A {{ [\"deprecated\"] struct Old {{ int x; }} {uses} }}");
    let files = MemoryLoader::new()
        .with("part.ice", part + "\n#if\n#endif\n")
        .with("a.ice", "#include \"part.ice\"\n")
        .with("b.ice", "#include \"part.ice\"\n");
    let mains = ["a.ice".into(), "b.ice".into()];
    let compilation = compile(&Options::default(), &files, &mains);
    let found: Vec<Code> = compilation.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(found.len(), 501, "{found:?}");
    assert_eq!(found[500], Code::BadDirective);
}

#[test]
fn texts_that_macros_double_at_each_level_end_with_an_error() {
    let nested = |name: &str, argument: &str| {
        let (open, close) = (format!("{name}(").repeat(38), ")".repeat(38));
        format!("{open}{argument}{close}")
    };
    let macros = "#define PASTE(x) x##x\n#define TWICE(x) PASTE(x)\n\
                  #define QUOTE(x) #x\n#define TEXT(x) QUOTE(x)\n";
    for text in [
        format!("const int {} = 1;", nested("TWICE", "a")),
        format!("const string s = {};", nested("TEXT", "\"a\"")),
    ] {
        let input = format!("{macros}module A {{ {text} }}");
        let compilation = check_source(input.as_bytes());
        let codes: Vec<Code> = compilation.diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::LimitExceeded], "{text:.40}");
    }
}

#[test]
fn long_lines_are_read_in_time() {
    let apostrophes = format!("#if 0\n{}\n#endif\nmodule A {{ }}", "' ".repeat(15 * DEPTH));
    let long = "x".repeat(80 * DEPTH);
    let macros = format!(
        "#define A\nmodule M {{ /* {long} */ {} }}",
        "A ".repeat(DEPTH)
    );
    for input in [apostrophes, macros] {
        let compilation = check_source(input.as_bytes());
        assert!(compilation.diagnostics.is_empty());
    }
}

#[test]
fn many_unknown_names_that_another_module_has_are_reported_in_time() {
    let all = |text: &str| -> String {
        let each = (0..DEPTH / 2).map(|n| text.replace('#', &n.to_string()));
        each.collect()
    };
    let (defined, used) = (all("enum E# { a# } "), all("E# e#; "));
    let input = format!("module A {{ {defined} }} module B {{ struct S {{ {used} }} }}");
    let compilation = check_source(input.as_bytes());
    let first = &compilation.diagnostics[0];
    assert_eq!(first.code, Code::UndefinedName);
    assert_eq!(first.help.as_deref(), Some("did you mean `::A::E0`?"));
}

#[test]
fn many_directives_of_a_file_are_looked_up_in_time() {
    let directives: Vec<String> = (0..DEPTH).map(|n| format!("\"unknown:{n}\"")).collect();
    let input = format!("[[{}]] module A {{ }}", directives.join(", "));
    let compilation = check_source(input.as_bytes());
    let mut codes = compilation.diagnostics.iter().map(|one| one.code);
    assert_eq!(codes.next(), Some(Code::UnknownMetadata));
}

#[test]
fn classes_with_many_members_and_operations_are_checked_in_time() {
    const COUNT: usize = 30_000;
    let each = |text: &str| -> String {
        let numbers = 0..COUNT;
        numbers.map(|n| text.replace('#', &n.to_string())).collect()
    };
    let mixed = format!(
        "module A {{ sequence<int> Is; class C {{ {}{} }} }}",
        each("Is m#;"),
        each("void o#();")
    );
    let implemented = format!(
        "module A {{ interface I {{ {} }} class B {{ {} }} class C extends B implements I {{ }} }}",
        each("void i#();"),
        each("void o#();")
    );
    let (interfaces, all) = (each("interface I# {} "), each("I#, "));
    let wide = format!(
        "module A {{ {interfaces} interface J {{ }} class B implements {all} J {{ }} \
         class C extends B implements {all} J {{ }} class D extends C {{ }} }}"
    );
    for text in [mixed, implemented, wide] {
        let compilation = check_source(text.as_bytes());
        assert!(!compilation.has_errors());
    }
}

#[test]
fn macros_with_many_parameters_are_read_in_time() {
    let names: Vec<String> = (0..DEPTH).map(|n| format!("p{n}")).collect();
    let (parameters, body) = (names.join(", "), names.join(" + "));
    let input = format!("#define F({parameters}) {body}\nmodule A {{ }}");
    let compilation = check_source(input.as_bytes());
    assert!(compilation.diagnostics.is_empty());
}

#[test]
fn any_text_is_laid_out_in_time() {
    let inputs = [
        "/**/".repeat(DEPTH),
        format!(
            "module A {{ struct S {{ int {} a; }} }}",
            "/**/".repeat(DEPTH)
        ),
        "[a]".repeat(DEPTH),
        "[a] b [c]\n".repeat(DEPTH),
        "a [c]\n".repeat(DEPTH),
    ];
    for input in inputs {
        let formatted = floe_slice::format(&input).unwrap();
        assert!(formatted.len() < 4 * input.len(), "{}", &input[..20]);
    }
}

#[test]
fn blocks_that_nest_too_deep_are_not_laid_out() {
    let nested = |depth| format!("{}{}", "module A { ".repeat(depth), "}".repeat(depth));
    assert!(floe_slice::format(&nested(100)).is_ok());
    for input in [nested(101), "{".repeat(DEPTH), "#if A\n{\n".repeat(DEPTH)] {
        let error = floe_slice::format(&input).unwrap_err();
        assert_eq!(error.message, "blocks nest more than 100 deep");
    }
}

#[test]
fn a_text_beyond_the_size_limit_is_refused() {
    let input = vec![b' '; 33 << 20];
    let compilation = check_source(&input);
    assert_eq!(compilation.diagnostics[0].code, Code::LimitExceeded);
}

/// Words, punctuation and fragments that a mutation inserts.
const FRAGMENTS: &[&str] = &[
    "module",
    "A",
    "B",
    "{",
    "}",
    ";",
    ",",
    "(",
    ")",
    "<",
    ">",
    "::",
    "*",
    "=",
    "-",
    "5",
    "0x",
    "1e9",
    "\"s\"",
    "\"",
    "struct",
    "S",
    "interface",
    "I",
    "exception",
    "E",
    "enum",
    "sequence",
    "dictionary",
    "const",
    "class",
    "C",
    "int",
    "string",
    "Object",
    "out",
    "throws",
    "extends",
    ":",
    "optional(1)",
    "idempotent",
    "void",
    "local",
    "[\"amd\"]",
    "[[",
    "]]",
    "[",
    "]",
    "/*",
    "*/",
    "//",
    "/** d */",
    "///",
    "\n",
    "\r\n",
    "\n#if 1\n",
    "\n#endif\n",
    "\n#else\n",
    "\n#define M(x) x M x\n",
    "\n#define A B\n",
    "M(",
    "\n#undef A\n",
    "\n#include \"main.ice\"\n",
    "\n#pragma once\n",
    "\n#elif 0\n",
    "#",
    "##",
    "\\",
    "\\struct",
    "é",
    "\u{feff}",
    "$",
    "'",
    "true",
    "x",
    "y",
    "Value",
    "LocalObject",
];

const LEGAL: &str = r#"#ifndef G
#define G
[["cpp:x"]]
module Demo { enum Level { low, mid = 5, high } const int Max = 10; sequence<string> Names;
dictionary<Level, Names> Table; struct Item { string name = "n\t"; Level level = mid; int count = Max; }
exception Failure { string reason; } exception Timeout extends Failure { int seconds = 30; }
interface Store; interface Base { idempotent int size(); }
interface Store extends Base { ["amd"] Item get(string key, out string note) throws Failure, Timeout; void link(Store* other); }
class Node(3) { Item item; Node next; optional(1) double weight; } module Inner { struct P { Item i; } } }
#endif
"#;

fn compile_everywhere(text: &str) -> Vec<Compilation> {
    let files = MemoryLoader::new().with("main.ice", text);
    [Language::Any, Language::V37, Language::V38]
        .into_iter()
        .map(|language| {
            let options = Options {
                language,
                ..Options::default()
            };
            compile(&options, &files, &["main.ice".into()])
        })
        .collect()
}

/// Renders everything, so that wrong spans panic here.
fn render(compilations: &[Compilation]) {
    for compilation in compilations {
        let rendered = compilation.render();
        assert_eq!(rendered.is_empty(), compilation.diagnostics.is_empty());
        for (_, definition) in compilation.model.iter() {
            assert_eq!(
                compilation
                    .sources
                    .text(definition.span)
                    .trim_start_matches('\\')
                    .is_empty(),
                definition.name.is_empty()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn token_soup_never_panics(soup in prop::collection::vec(prop::sample::select(FRAGMENTS), 0..80)) {
        render(&compile_everywhere(&soup.join(" ")));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        render(&[check_source(&bytes)]);
    }

    #[test]
    fn mutated_legal_texts_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, prop::sample::select(FRAGMENTS)), 1..6)
    ) {
        let mut text = LEGAL.to_owned();
        for (at, remove, insert) in edits {
            let start = at.index(text.len() + 1);
            let end = (start + remove).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, insert);
            }
        }
        render(&compile_everywhere(&text));
    }
}
