//! The text of identities. Expectations are observed: Ice 3.7.8.

use crate::reference::{Identity, ToStringMode};

fn parse(text: &str) -> Identity {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    let error = text.parse::<Identity>().expect_err(text);
    error.to_string()
}

#[test]
fn a_slash_separates_category_and_name() {
    assert_eq!(parse("hello"), Identity::new("hello"));
    assert_eq!(
        parse("demo/hello"),
        Identity::with_category("hello", "demo")
    );
    assert_eq!(parse("/hello"), Identity::new("hello"));
    assert_eq!(parse(""), Identity::default());
}

#[test]
fn an_escaped_slash_belongs_to_the_category_or_name() {
    assert_eq!(parse("c\\/d/n\\/m"), Identity::with_category("n/m", "c/d"));
    assert_eq!(parse("c\\\\/n"), Identity::with_category("n", "c\\"));
    assert_eq!(
        Identity::with_category("n/m", "c/d").to_string(),
        "c\\/d/n\\/m"
    );
}

#[test]
fn escapes_stand_for_characters_and_bytes() {
    assert_eq!(
        parse("\\a\\b\\f\\n\\r\\t\\v").name,
        "\x07\x08\x0c\n\r\t\x0b"
    );
    assert_eq!(parse("\\\\\\'\\\"\\?").name, "\\'\"?");
    assert_eq!(parse("\\x41\\101\\0").name, "AA\0");
    assert_eq!(parse("\\xc3\\xa9\\303\\251").name, "éé");
    assert_eq!(parse("\\u20ac\\U0001F600").name, "€😀");
}

#[test]
fn a_backslash_before_anything_else_is_kept() {
    assert_eq!(parse("\\q").name, "\\q");
    assert_eq!(parse("\\8").name, "\\8");
    assert_eq!(parse("\\é").name, "\\é");
    assert_eq!(parse("end\\").name, "end\\");
}

#[test]
fn invalid_identities_are_refused_with_the_position_and_the_reason() {
    assert_eq!(
        error("a/b/c"),
        "at byte 3: expected at most one `/`, got `/c`; \
         write a `/` inside a category or name as `\\/`"
    );
    assert_eq!(
        error("a/"),
        "at byte 2: expected a name after the category, got nothing; \
         an identity is `name` or `category/name`"
    );
    assert_eq!(
        error("cat/x\u{1}"),
        "at byte 5: expected no control character, got `\\u{1}`; \
         write it as an escape such as \\n or \\u0001"
    );
    assert_eq!(
        error("\\777"),
        "at byte 1: expected an octal value of at most 377, got `777`"
    );
    assert_eq!(
        error("\\xg"),
        "at byte 2: expected a hexadecimal digit after \\x, got `g`"
    );
    assert_eq!(
        error("\\u004"),
        "at byte 2: expected 4 hexadecimal digits, got `004`"
    );
    assert_eq!(
        error("\\ud800"),
        "at byte 2: expected a character, up to 10ffff and no surrogate, got `d800`"
    );
    assert!(error("\\U00110000").contains("up to 10ffff"));
    assert!(error("\\xc3").contains("escapes that form UTF-8 text"));
    assert!(error("a\x7f").contains("no control character"));
}

#[test]
fn each_mode_escapes_characters_in_its_own_way() {
    let identity = Identity::new("\x01é€😀\x7f\x07\x0b\n\\e\0?");
    assert_eq!(
        identity.to_text(ToStringMode::Unicode),
        "\\u0001é€😀\\u007f\\a\\v\\n\\\\e\\u0000?"
    );
    assert_eq!(
        identity.to_text(ToStringMode::Ascii),
        "\\u0001\\u00e9\\u20ac\\U0001f600\\u007f\\a\\v\\n\\\\e\\u0000?"
    );
    assert_eq!(
        identity.to_text(ToStringMode::Compat),
        "\\001\\303\\251\\342\\202\\254\\360\\237\\230\\200\\177\\007\\013\\n\\\\e\\000?"
    );
}
