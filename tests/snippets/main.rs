//! The blocks of Rust in the guides, the decision records and the other documents: that they compile is the test.
//!
//! `build/snippets.rs` says how a block is marked. The compiler shows a mistake in a file of the build folder, at the line that it
//! has on its page.

#[allow(
    dead_code,
    unused_imports,
    reason = "no block uses all, and no block is called"
)]
mod given;
#[path = "../build/snippets.rs"]
mod rules;

#[allow(
    warnings,
    clippy::all,
    reason = "a block is a part of a program, and shows one thing"
)]
mod blocks {
    include!(concat!(env!("OUT_DIR"), "/snippets.rs"));

    /// Those that are not compiled, and why.
    pub(crate) fn not_compiled() -> &'static [(&'static str, &'static str)] {
        NOT_COMPILED
    }

    pub(crate) use page_events_publisher::demo as published;
    pub(crate) use page_events_subscriber::demo as subscribed;
}

use floe::EncodingVersion;
use floe::encoding::{Decode, Decoder, Encode, Encoder};
use rules::{Use, snippets};

/// A block that is left out is named here, too, so that nobody leaves out one by accident.
#[test]
fn every_block_of_rust_in_the_documents_is_compiled() {
    let adr = "docs/adr/0011-classes-are-shared-links.md";
    let left_out = [(adr, "ADR 51 replaced this function by Graph")];
    assert_eq!(blocks::not_compiled(), left_out);
}

#[test]
fn the_programs_of_the_guide_to_events_share_a_contract() {
    use floe::hub::TypedEvent;
    assert_eq!(blocks::subscribed::TickerEvent::TYPE_ID, "::Demo::Ticker");
    let tick = blocks::published::Tick {
        symbol: "ICE".to_owned(),
        price: 1.5,
    };
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    tick.encode(&mut encoder);
    encoder.finish().expect("encodable");
    let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
    let decoded = blocks::subscribed::Tick::decode(&mut decoder);
    assert_eq!(decoded.map(|tick| tick.price), Ok(1.5));
}

#[test]
fn a_block_has_the_lines_of_its_page_and_the_values_that_its_comment_names() {
    let page = "Text.\n\n<!-- snippet: topic, qos -->\n```rust\nlet a = 1;\nlet b = 2;\n```\n";
    let [snippet] = &snippets(page)[..] else {
        panic!("expected one block");
    };
    let Use::Module(text) = &snippet.r#use else {
        panic!("expected a module, got {snippet:?}");
    };
    assert_eq!(snippet.line, 5);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("mut topic: Topic, mut qos: Qos, "),
        "{text}"
    );
    assert_eq!(lines[4..6], ["let a = 1;", "let b = 2;"]);
}

#[test]
fn a_block_for_a_spawned_task_has_a_future_that_is_send() {
    let snippet = &snippets("<!-- snippet: arm, spawned -->\n```rust\nf();\n```\n")[0];
    let Use::Module(text) = &snippet.r#use else {
        panic!("expected a module, got {snippet:?}");
    };
    assert!(
        text.contains("> + Send { async move {\n\nf();\nOk(())\n}}"),
        "{text}"
    );
}

#[test]
fn a_block_in_a_list_is_one_of_a_function_and_a_comment_holds_for_one_block() {
    let page = "<!-- snippet: topic -->\n- Text:\n\n  ```rust\n  f();\n  ```\n";
    let [snippet] = &snippets(page)[..] else {
        panic!("expected one block");
    };
    let Use::Module(text) = &snippet.r#use else {
        panic!("expected a module, got {snippet:?}");
    };
    assert!(
        text.contains("snippet()") && text.contains("\nf();\n"),
        "{text}"
    );
}

#[test]
fn a_block_that_names_its_file_is_that_file() {
    let page = "```rust\n// src/bin/my-server.rs\nfn main() {}\n```\n";
    let snippet = &snippets(page)[0];
    assert_eq!(snippet.file.as_deref(), Some("my_server"));
    let Use::Module(text) = &snippet.r#use else {
        panic!("expected a module, got {snippet:?}");
    };
    assert!(
        text.ends_with("\n// src/bin/my-server.rs\nfn main() {}\n"),
        "{text}"
    );
}

#[test]
fn a_block_is_left_out_only_with_a_reason_and_unknown_values_are_wrong() {
    let uses = |page: &str| {
        let found = snippets(page).into_iter();
        found.map(|snippet| snippet.r#use).collect::<Vec<_>>()
    };
    let code = "f();\n```\n";
    let ignored = uses(&format!("```rust,ignore\n{code}"));
    assert!(matches!(&ignored[..], [Use::Wrong(_)]), "{ignored:?}");
    let unknown = uses(&format!("<!-- snippet: topics -->\n```rust\n{code}"));
    assert!(matches!(&unknown[..], [Use::Wrong(_)]), "{unknown:?}");
    let reason = "<!-- snippet: not compiled: it shows a mistake -->";
    let excused = uses(&format!("{reason}\n```rust,ignore\n{code}"));
    assert_eq!(excused, [Use::NotCompiled("it shows a mistake".to_owned())]);
    let quoted = uses(&format!("<!-- snippet: from a.rs -->\n\n```rust\n{code}"));
    assert_eq!(quoted, [Use::From("a.rs".to_owned())]);
    assert!(uses(&format!("```rs\n{code}```slice\n{code}")).is_empty());
}
