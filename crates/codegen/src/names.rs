//! Identifiers: Slice names in the spelling of the target language.
//!
//! A name is split into words, and the words are joined in the case that the target wants. Names
//! that are keywords of Rust are escaped. Whether two names become one is checked elsewhere
//! (`rust/check.rs`). The rule for words is written for users in `docs/guides/metadata.md`.

use proc_macro2::{Ident, Span};

/// A name in the spelling of a type: `linkInfo` and `LINK_INFO` become `LinkInfo`.
pub fn upper_camel(name: &str) -> String {
    words(name).iter().map(|word| capitalized(word)).collect()
}

/// A name in the spelling of a module, field, function or parameter: `linkInfo` becomes `link_info`.
pub fn snake(name: &str) -> String {
    let words: Vec<String> = words(name).iter().map(|word| word.to_lowercase()).collect();
    words.join("_")
}

/// A name in the spelling of a constant: `maxCost` becomes `MAX_COST`.
pub fn screaming_snake(name: &str) -> String {
    snake(name).to_uppercase()
}

/// The Rust identifier for a text; keywords become raw (`r#type`), or get an underscore where Rust
/// has no raw form (`self_`).
pub fn ident(text: &str) -> Ident {
    if CANNOT_BE_RAW.contains(&text) {
        Ident::new(&format!("{text}_"), Span::call_site())
    } else if KEYWORDS.contains(&text) {
        Ident::new_raw(text, Span::call_site())
    } else {
        Ident::new(text, Span::call_site())
    }
}

/// The text, or the text with underscores behind it until nothing in `taken` is equal.
pub fn fresh(text: &str, taken: &[String]) -> Ident {
    let mut candidate = text.to_owned();
    while taken.contains(&candidate) {
        candidate.push('_');
    }
    ident(&candidate)
}

/// Returns true if the words of a name are hardly those that its author meant: a capital alone is one of them
/// (`AorD` is `aor_d`), or so many capitals stand side by side that they are more than one (`getAMDMB`).
pub fn looks_broken(name: &str) -> bool {
    let words = words(name);
    let is_letter = |word: &String| word.len() == 1 && word.chars().all(char::is_uppercase);
    let is_run = |word: &String| word.chars().filter(|it| it.is_uppercase()).count() >= RUN_MIN;
    (words.len() > 1 && words.iter().any(is_letter))
        || (name.chars().any(char::is_lowercase) && words.iter().any(is_run))
}

/// So many capitals side by side are taken for two abbreviations.
const RUN_MIN: usize = 5;

/// The words of a name: they end at an underscore, before a capital that follows something else,
/// and before the last capital of several that a small letter follows (`HTTPServer`: `HTTP`,
/// `Server`).
fn words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, &character) in characters.iter().enumerate() {
        if character == '_' {
            words.push(String::new());
            continue;
        }
        let previous = index.checked_sub(1).map(|before| characters[before]);
        let next = characters.get(index + 1).copied();
        if starts_word(previous, character, next) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(character);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn starts_word(previous: Option<char>, character: char, next: Option<char>) -> bool {
    let after_small = previous.is_some_and(|previous| !previous.is_uppercase());
    let before_small = next.is_some_and(char::is_lowercase);
    character.is_uppercase() && (after_small || before_small)
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first
        .into_iter()
        .chain(characters.map(|character| character.to_ascii_lowercase()))
        .collect()
}

const CANNOT_BE_RAW: [&str; 4] = ["self", "Self", "super", "crate"];

/// Keywords of edition 2024 and the reserved words, without those that cannot be raw.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_the_case_of_what_they_name() {
        let cases = [
            ("greet", "greet", "Greet", "GREET"),
            (
                "subscribeAndGetPublisher",
                "subscribe_and_get_publisher",
                "SubscribeAndGetPublisher",
                "SUBSCRIBE_AND_GET_PUBLISHER",
            ),
            ("HTTPServer", "http_server", "HttpServer", "HTTP_SERVER"),
            ("RED", "red", "Red", "RED"),
            ("max_value", "max_value", "MaxValue", "MAX_VALUE"),
            ("vec3d", "vec3d", "Vec3d", "VEC3D"),
            ("int2String", "int2_string", "Int2String", "INT2_STRING"),
            ("QoS", "qo_s", "QoS", "QO_S"),
            ("x", "x", "X", "X"),
            (
                "throwAorDasAorD",
                "throw_aor_das_aor_d",
                "ThrowAorDasAorD",
                "THROW_AOR_DAS_AOR_D",
            ),
            ("getAMDMB", "get_amdmb", "GetAmdmb", "GET_AMDMB"),
            ("opMG1", "op_mg1", "OpMg1", "OP_MG1"),
            (
                "opByteSOneway",
                "op_byte_s_oneway",
                "OpByteSOneway",
                "OP_BYTE_S_ONEWAY",
            ),
        ];
        for (name, in_snake, in_camel, in_screaming) in cases {
            assert_eq!(snake(name), in_snake);
            assert_eq!(upper_camel(name), in_camel);
            assert_eq!(screaming_snake(name), in_screaming);
        }
    }

    #[test]
    fn names_whose_words_are_hardly_meant_look_broken() {
        for name in ["throwAorDasAorD", "getAMDMB", "QoS", "opByteSOneway"] {
            assert!(looks_broken(name), "{name}");
        }
        for name in [
            "opMG1",
            "HTTPServer",
            "getHTTP",
            "MAX_VALUE",
            "x",
            "RED",
            "QOS_CLASS",
        ] {
            assert!(!looks_broken(name), "{name}");
        }
    }

    #[test]
    fn keywords_of_rust_are_escaped() {
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("gen").to_string(), "r#gen");
        assert_eq!(ident("self").to_string(), "self_");
        assert_eq!(ident("Self").to_string(), "Self_");
        assert_eq!(ident("crate").to_string(), "crate_");
        assert_eq!(ident("types").to_string(), "types");
    }

    #[test]
    fn every_escaped_keyword_is_an_identifier_that_rust_parses() {
        for keyword in KEYWORDS.iter().chain(&CANNOT_BE_RAW) {
            let text = ident(keyword).to_string();
            assert!(syn::parse_str::<syn::Ident>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_fresh_name_differs_from_all_that_are_taken() {
        let taken = ["encoder".to_owned(), "encoder_".to_owned()];
        assert_eq!(fresh("encoder", &taken).to_string(), "encoder__");
        assert_eq!(fresh("decoder", &taken).to_string(), "decoder");
    }
}
