//! Macros and conditions.

use floe_slice::model::{ConstValue, DefinitionKind};
use floe_slice::{Code, Language, MemoryLoader, Options, compile};

use crate::{codes, compile_text, model};

/// The value of the constant `N` that a text defines in module `A`.
fn value(text: &str) -> i64 {
    let model = model(text);
    let id = model.find("::A::N").expect("A::N is defined");
    match &model.definition(id).kind {
        DefinitionKind::Const(constant) => match constant.value {
            ConstValue::Integer(value) => value,
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Returns true if `#if` takes the condition as true.
fn is_true(condition: &str) -> bool {
    value(&format!(
        "#define ONE 1\n#define EMPTY\n#if {condition}\nmodule A {{ const int N = 1; }}\n#else\nmodule A {{ const int N = 0; }}\n#endif"
    )) == 1
}

#[test]
fn conditions_compute_as_in_c() {
    for condition in [
        "1",
        "ONE",
        "defined(ONE)",
        "defined ONE && defined(EMPTY)",
        "!defined(NOPE)",
        "NOPE == 0",
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "10 / 3 == 3 && 10 % 3 == 1",
        "-1 < 0",
        "~0 == -1",
        "1 << 4 == 16",
        "0x10 == 16 && 010 == 8",
        "1 ? 1 : 0",
        "0 || 2",
        "0 && 1/0 || 1",
        "3 >= 3 && 3 <= 3",
        "2 != 3",
        "(6 & 3) == 2 && (6 | 1) == 7 && (6 ^ 2) == 4",
        "10L == 10UL",
        "5 > 3 == 1",
        "1 - -1 == 2",
        // Numbers without a sign are stronger than those with one.
        "-1 > 0u && 1u - 2u > 0 && -1u > 0 && ~0u > 0",
        "-1 / 2u > 0 && -1 % 10u == 5 && -1u >> 63 == 1 && -1 >> 1u == -1",
        "(1 ? -1 : 0u) > 0 && (-1 | 0u) > 0 && (1u < 2) - 2 < 0",
        "9223372036854775808 > 0 && 0xffffffffffffffff == -1",
        "1 << 65 == 2 && 2 >> 64 == 2",
        // Characters are the number of their bytes.
        "'a' == 97 && 'a' + 1 == 'b' && ' ' == 32 && '\"' == 34",
        "'\\n' == 10 && '\\0' == 0 && '\\x41' == 65 && '\\101' == 65 && '\\'' == 39",
        "'ab' == 24930 && '\\377' == 255 && 'é' == 0xc3a9 && '//' == 12079",
    ] {
        assert!(is_true(condition), "{condition}");
        assert!(!is_true(&format!("!({condition})")), "not {condition}");
    }
}

#[test]
fn what_is_no_number_of_a_condition_is_refused() {
    for condition in ["''", "'a", "'abcdefghi'", "'\\400'", "'\\q'", "1uu", "1lll"] {
        let text = format!("#if {condition}\n#endif\nmodule A {{ const int N = 1; }}");
        let compilation = compile_text(&text);
        assert_eq!(codes(&compilation), [Code::BadDirective], "{condition}");
    }
}

/// Observed: in slice2cpp of Ice 3.7.8, the name has been expanded when `defined` is looked at.
#[test]
fn macros_may_ask_whether_another_is_defined() {
    let asks = |macros: &str| {
        value(&format!(
            "{macros}\n#define HAS(name) defined(name)\n#define BOTH defined P && defined(Q)\n#if HAS(X) || BOTH\nmodule A {{ const int N = 1; }}\n#else\nmodule A {{ const int N = 0; }}\n#endif"
        ))
    };
    assert_eq!(asks(""), 0);
    assert_eq!(asks("#define X Y"), 0);
    assert_eq!(
        asks("#define X Y\n#define P R\n#define Q R\n#define R R"),
        1
    );
    let text = "#define X 1\n#define HAS defined(X)\n#if HAS\n#endif\nmodule A { }";
    assert_eq!(codes(&compile_text(text)), [Code::BadDirective]);
}

#[test]
fn the_first_true_branch_counts() {
    let text = "#define V 2\n#if V == 1\n bad {\n#elif V == 2\nmodule A { const int N = 2; }\n#elif 1/0\n bad\n#else\n bad\n#endif";
    assert_eq!(value(text), 2);
}

#[test]
fn skipped_text_may_be_anything() {
    let text = "#if 0\n it's \"open $ \\ é /* #endif */\n#if nonsense (\n#include <nowhere>\n#error no\n#else\n#bad\n#endif\n#elif 0\n'\n#endif\nmodule A { const int N = 3; }";
    assert_eq!(value(text), 3);
}

#[test]
fn macros_replace_names_everywhere_but_in_strings() {
    let text = "#define VALUE 4\n#define TYPE int\n#define NAME N\nmodule A { const TYPE NAME = VALUE; const string S = \"VALUE\"; }";
    assert_eq!(value(text), 4);
}

#[test]
fn function_like_macros_take_arguments() {
    let text = "#define CONST(type, name, value) const type name = value;\n#define ID(x) x\nmodule A { CONST(int, N, ID(ID(6))) CONST(long,\n  M, 7) }";
    assert_eq!(value(text), 6);
}

#[test]
fn a_macro_without_its_parentheses_is_a_name() {
    assert_eq!(value("#define N(x) x\nmodule A { const int N = 5; }"), 5);
}

#[test]
fn tokens_can_be_joined_and_quoted() {
    let text = "#define JOIN(a, b) a ## b\n#define TEXT(a) #a\nmodule A { const int JOIN(N, ) = JOIN(1, 2); const string S = TEXT(x \"y\"); }";
    assert_eq!(value(text), 12);
}

#[test]
fn a_macro_that_names_itself_is_expanded_once() {
    assert_eq!(
        value("#define N N\n#define X Y\n#define Y X\nmodule A { const int N = 5; }"),
        5
    );
}

#[test]
fn long_definitions_continue_after_a_backslash() {
    assert_eq!(
        value("#define BODY const int \\\r\n  N = \\\n 8;\r\nmodule A { BODY }"),
        8
    );
}

#[test]
fn words_and_numbers_continue_after_a_backslash() {
    let text = "mod\\\nule A { con\\\r\nst in\\\n\\\nt N = 0\\\nx1\\\nF; }";
    assert_eq!(value(text), 31);
    assert_eq!(
        value("#def\\\nine LO\\\nNG 7\nmodule A { const int N = LONG; }"),
        7
    );
}

#[test]
fn undef_removes_a_macro() {
    assert_eq!(
        value("#define N M\n#undef N\nmodule A { const int N = 5; }"),
        5
    );
}

#[test]
fn options_define_and_undefine_macros() {
    let files = MemoryLoader::new().with(
        "a.ice",
        "#if defined(GONE) || !defined(__FLOE__)\nbad\n#endif\nmodule A { const int N = SIZE; }",
    );
    let options = Options {
        defines: vec![
            ("SIZE".into(), "40 ".into()),
            ("GONE".into(), String::new()),
        ],
        undefines: vec!["GONE".into()],
        ..Options::default()
    };
    let compilation = compile(&options, &files, &["a.ice".into()]);
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
}

#[test]
fn the_version_of_ice_is_predefined() {
    let text = "#if ICE_VERSION != __ICE_VERSION__\nbad\n#endif\n#if ICE_VERSION >= 30800\nmodule New { }\n#else\nmodule Old { }\n#endif\n[[\"x\"]]";
    let files = MemoryLoader::new().with("a.ice", text);
    for (language, expected) in [
        (Language::V37, "Old"),
        (Language::V38, "New"),
        (Language::Any, "New"),
    ] {
        let options = Options {
            language,
            ..Options::default()
        };
        let compilation = compile(&options, &files, &["a.ice".into()]);
        // The misplaced metadata shows that the module before it was read.
        assert_eq!(codes(&compilation)[0], Code::MisplacedMetadata);
        let source = &compilation.sources.files()[0];
        assert!(source.text.contains(expected));
    }
}

#[test]
fn macro_bombs_end_with_an_error() {
    let mut text: String = (1..64)
        .map(|level| format!("#define A{level} A{0} A{0}\n", level - 1))
        .collect();
    text.push_str("#define A0 x\nmodule M { A63 }");
    assert_eq!(codes(&compile_text(&text)), [Code::LimitExceeded]);
}
