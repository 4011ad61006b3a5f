//! What cannot be generated is refused with its place, and never half made.

use crate::findings;

#[test]
fn classes_are_refused_where_they_are_defined_and_where_they_are_used() {
    let text = findings("module M { class C { int i; } struct S { C c; Object any; } }");
    assert!(
        text.contains("class `::M::C` cannot be generated"),
        "{text}"
    );
    assert!(text.contains("a value of class `::M::C`"), "{text}");
    assert!(text.contains("a value of class `::Ice::Object`"), "{text}");
    assert_eq!(text.matches("not yet supported").count(), 3, "{text}");
}

#[test]
fn optional_values_are_refused() {
    let text = findings("module M { interface I { optional(3) int f(optional(1) int i); } }");
    assert!(text.contains("`optional(1)` cannot be generated"), "{text}");
    assert!(text.contains("`optional(3)` cannot be generated"), "{text}");
}

#[test]
fn an_interface_that_was_only_declared_is_refused() {
    let text = findings("module M { interface Later; struct S { Later* later; } }");
    assert!(
        text.contains("interface `::M::Later` is declared but never defined"),
        "{text}"
    );
    assert!(text.contains("include the file that defines it"), "{text}");
}
