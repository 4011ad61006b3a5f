//! The enum of events that an interface becomes.

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;

fn rust(contract: &str) -> String {
    let compilation = check_source(format!("module M {{ {contract} }}").as_bytes());
    assert!(
        compilation.diagnostics.is_empty(),
        "{:?}",
        compilation.diagnostics
    );
    generate_rust(&compilation.model, &RustOptions::new()).unwrap()
}

#[test]
fn an_interface_whose_operations_return_nothing_has_a_variant_for_each() {
    let text = rust(
        "interface Base { void stopped(); }
         interface Ticker extends Base { void tick(double price); idempotent void moved(int x, int y); }",
    );
    assert!(text.contains("pub enum TickerEvent {"), "{text}");
    for variant in [
        "Stopped,",
        "Tick(f64),",
        "Moved { x: i32, y: i32 },",
        "b\"stopped\" => request.decode_nothing(OperationMode::Normal)",
        "b\"tick\" => request.decode(",
        "OperationMode::Normal, codegen::one)",
        "request.decode(OperationMode::Idempotent, codegen::all).map(",
        "|(x, y)| Self::Moved { x, y },",
    ] {
        assert!(text.contains(variant), "{variant}: {text}");
    }
}

#[test]
fn an_interface_that_answers_has_no_events() {
    let text = rust(
        "exception X {}
         interface Returns { int f(); }
         interface Out { void f(out int i); }
         interface Throws { void f() throws X; }
         interface Inherits extends Returns { void g(); }
         interface Empty {}",
    );
    assert!(!text.contains("TypedEvent"), "{text}");
}

#[test]
fn names_of_the_contract_come_before_the_names_of_events() {
    let text = rust(
        "struct TickerEvent { int i; }
         interface Ticker { void tick(TickerEvent event); void at_1(); void at1(); }",
    );
    assert!(text.contains("pub struct TickerEvent {"), "{text}");
    assert!(text.contains("pub enum TickerEvent_ {"), "{text}");
    assert!(text.contains(" At1,") && text.contains(" At1_,"), "{text}");
}
