//! The compiler's messages about mistakes of the runtime's users: programs that must not compile, against the
//! runtime that this test is linked with.

use crate::compiler;

#[test]
fn a_bare_servant_is_told_to_need_a_dispatcher() {
    let said = refused(
        "bare-servant",
        r#"
        struct Weather;
        pub fn add(adapter: &floe::Adapter) {
            let _ = adapter.add("station", Weather);
        }
        "#,
    );
    expect(&said, "error[E0277]: `Weather` is not a dispatcher");
    expect(
        &said,
        "expected a dispatcher, such as `StationDispatcher::new(servant)`",
    );
    expect(
        &said,
        "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`",
    );
}

#[test]
fn a_bare_subscriber_is_told_to_need_a_dispatcher() {
    let said = refused(
        "bare-subscriber",
        r"
        struct Weather;
        pub fn subscribe(topic: &floe::hub::Topic) {
            let _ = topic.subscribe_servant(Weather);
        }
        ",
    );
    expect(
        &said,
        "error[E0277]: `Weather` is not a generated dispatcher",
    );
    expect(
        &said,
        "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`",
    );
}

#[test]
fn a_subscription_of_what_is_no_enum_of_events_is_told_which_is_one() {
    let said = refused(
        "no-events",
        r"
        struct Weather;
        pub fn subscribe(topic: &floe::hub::Topic) {
            let _ = topic.subscribe::<Weather>();
        }
        ",
    );
    expect(&said, "error[E0277]: `Weather` is not an enum of events");
    expect(
        &said,
        "expected the events of an interface, such as `TickerEvent`",
    );
}

#[test]
fn a_program_without_a_mistake_compiles() {
    let (compiles, said) = compile(
        "no-mistake",
        "pub fn end(adapter: &floe::Adapter) { adapter.activate(); }",
    );
    assert!(compiles, "{said}");
}

/// Returns the compiler's messages about a library that it must refuse.
#[track_caller]
fn refused(name: &str, source: &str) -> String {
    let (compiles, said) = compile(name, source);
    assert!(!compiles, "{name} compiles");
    said
}

fn compile(name: &str, source: &str) -> (bool, String) {
    compiler::compile("compiler-messages", name, source)
}

#[track_caller]
fn expect(said: &str, text: &str) {
    // The compiler breaks no line of a message.
    assert!(said.contains(text), "expected `{text}` in\n{said}");
}
