//! Laying out Slice: everything in the repository keeps its meaning, and stays as it is the second time.

use std::path::{Path, PathBuf};

use floe_slice::{Compilation, Loader, MemoryLoader, Options, compile, format};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn every_accepted_case_keeps_its_meaning() {
    for (name, source) in corpus() {
        assert_kept(&name, &source);
    }
}

#[test]
fn commas_without_an_enumerator_stay() {
    assert_kept("commas", "module A { enum E { , a, , b = 7,, c, } }");
}

#[test]
fn every_contract_keeps_its_meaning() {
    for (path, source) in contracts() {
        assert_kept(&path.display().to_string(), &source);
    }
}

#[test]
fn committed_contracts_are_laid_out_already() {
    for (path, source) in contracts() {
        let is_style = ["contracts", "examples"].iter().any(|dir| {
            path.components()
                .any(|part| part.as_os_str() == std::ffi::OsStr::new(dir))
        });
        let is_test = path.ends_with("tests/contracts/Everything.ice");
        if is_style && !is_test {
            assert_eq!(format(&source).unwrap(), source, "{}", path.display());
        }
    }
}

#[test]
fn a_text_gets_the_layout_of_the_house() {
    let text = r#"#ifndef SHOP
  #define SHOP 1
[["underscore"]]
// a module
module   Demo {


/* plain
   block
     deeper */
["amd","deprecated:use other"]
interface Store:Base , ::Demo::Other{
idempotent ::Demo::T get ( string key,optional( 2 )int depth,["x"] out optional(1) string note )throws Failure,Timeout ;  // why
void rename(string firstParameter, string secondParameter, dictionaryOfThings third, out string fourthParameter) throws Failure;
void f(int a, // the a
 int b);
#if 1
  void g();
#endif
};
enum E{a=1,b
}
const int N = -5;  dictionary<string,::Ice::Identity>D;
class C(42) extends B{ optional(1) double weight=1.5; }
}
#endif
"#;
    let expected = r#"#ifndef SHOP
#define SHOP 1
[["underscore"]]
// a module
module Demo
{
    /* plain
       block
         deeper */
    ["amd", "deprecated:use other"]
    interface Store : Base, ::Demo::Other
    {
        idempotent ::Demo::T get(
            string key, optional(2) int depth, ["x"] out optional(1) string note)
            throws Failure, Timeout; // why
        void rename(
            string firstParameter,
            string secondParameter,
            dictionaryOfThings third,
            out string fourthParameter)
            throws Failure;
        void f(int a, // the a
            int b);
#if 1
        void g();
#endif
    };
    enum E
    {
        a = 1,
        b
    }
    const int N = -5;
    dictionary<string, ::Ice::Identity> D;
    class C(42) extends B { optional(1) double weight = 1.5; }
}
#endif
"#;
    assert_eq!(format(text).unwrap(), expected);
    let crlf = format(&text.replace('\n', "\r\n")).unwrap();
    assert_eq!(crlf, expected.replace('\n', "\r\n"));
}

#[test]
fn a_backslash_at_the_end_continues_nothing() {
    for text in [
        "module M { } // so\\",
        "module M { }\n#define N \\",
        "module M { } \\",
    ] {
        assert_kept(text, text);
    }
}

#[test]
fn a_text_without_an_end_is_refused_with_its_place() {
    let error = format("module M\n{\n    const string s = \"x;\n}\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "3:22: this string has no closing quote on its line"
    );
    let error = format("module M { } /* no end").unwrap_err();
    assert_eq!((error.line, error.column), (1, 14));
    let error = format(" \u{feff}module M { }").unwrap_err();
    assert_eq!((error.line, error.column), (1, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_text_with_other_blanks_and_comments_keeps_its_meaning(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..BLANKS.len()), 1..12),
    ) {
        let mut sources: Vec<String> = corpus().into_iter().map(|(_, source)| source).collect();
        sources.extend(contracts().into_iter().map(|(_, source)| source));
        let mut source = sources[which.index(sources.len())].clone();
        for (place, blank) in changes {
            let places: Vec<usize> = source.match_indices([' ', '\n', ';', ',', '{', '(']).map(|(at, _)| at).collect();
            if !places.is_empty() {
                source.insert_str(places[place.index(places.len())], BLANKS[blank]);
            }
        }
        assert_kept("changed", &source);
    }

    #[test]
    fn no_text_makes_it_panic_or_change_the_second_time(
        parts in prop::collection::vec(0..PARTS.len(), 0..40)
    ) {
        let source: String = parts.into_iter().map(|part| PARTS[part]).collect();
        if let Ok(once) = format(&source) {
            prop_assert_eq!(format(&once).unwrap(), once, "{}", source);
        }
    }
}

const BLANKS: &[&str] = &[
    " ",
    "\n",
    "\n\n\n",
    "\t",
    "  \n  ",
    " /* note */ ",
    " // note\n",
    "\n// note\n",
    "\\\n",
    "\n#define N 1\n",
    "\r\n",
    "/** doc */",
    "\n/// doc\n",
    "\n/*\n  a\n\tb\n */\n",
];

const PARTS: &[&str] = &[
    "module",
    " ",
    "\n",
    "{",
    "}",
    ";",
    "A",
    "struct",
    "enum",
    "(",
    ")",
    "[",
    "]",
    "[[",
    "]]",
    "\"x\"",
    ",",
    "::",
    ":",
    "<",
    ">",
    "*",
    "=",
    "-",
    "5",
    "// c\n",
    "/* c */",
    "/* c\n d */",
    "#if X\n",
    "#else\n",
    "#endif\n",
    "\n\n",
    "throws",
    "extends",
    "void",
    "\t",
    "\\\n",
    "interface",
    "#",
    "/** d */",
    "const",
    "1.5",
    "+",
];

/// Checks that the formatted text compiles to the same, and is its own formatted text.
#[track_caller]
fn assert_kept(name: &str, source: &str) {
    let formatted = match format(source) {
        Ok(formatted) => formatted,
        // What has been put inside of a string is not formatted, but not changed either.
        Err(_) => return,
    };
    let again = format(&formatted).unwrap_or_else(|error| panic!("{name}: {error}\n{formatted}"));
    assert_eq!(again, formatted, "{name}: laid out twice\n{source}");
    let (before, after) = (compiled(source), compiled(&formatted));
    // Where the parser takes up again after an error depends on line ends.
    if !before.has_errors() {
        let is_same = shape(&before) == shape(&after);
        assert!(is_same, "{name}\n{source}\n{formatted}\n{}", after.render());
    }
}

fn compiled(source: &str) -> Compilation {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let options = Options {
        include_dirs: vec![root.join("contracts")],
        ..Options::default()
    };
    struct Disk;
    impl Loader for Disk {
        fn load(&self, path: &Path) -> std::io::Result<Vec<u8>> {
            std::fs::read(path)
        }
    }
    let files = MemoryLoader::new().with("main.ice", source).or(Disk);
    compile(&options, &files, &["main.ice".into()])
}

/// All that a compilation found, without places in the text.
fn shape(compilation: &Compilation) -> String {
    let codes: Vec<_> = compilation.diagnostics.iter().map(|one| one.code).collect();
    let text = format!("{codes:?} {:?}", compilation.model);
    let mut shape = String::new();
    let mut parts = text.split("Span {");
    shape.push_str(parts.next().unwrap_or(""));
    for part in parts {
        shape.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    shape
}

fn corpus() -> Vec<(String, String)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/vectors/slice-accept.json"
    );
    let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
    let corpus: Value = serde_json::from_str(&text).expect("the corpus is JSON");
    let cases = corpus["cases"].as_array().expect("the corpus has cases");
    let accepted = cases.iter().filter(|case| case["ice37_accepts"] == true);
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    accepted
        .map(|case| (text(&case["name"]), text(&case["source"])))
        .collect()
}

fn contracts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut open = vec![
        root.join("contracts"),
        root.join("examples"),
        root.join("tests"),
    ];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ice") {
                let text = std::fs::read_to_string(&path).expect("a contract is text");
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 10, "the contracts are found");
    found
}
