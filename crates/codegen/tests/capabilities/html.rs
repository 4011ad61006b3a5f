//! A contract as an HTML page.

use std::collections::BTreeSet;

use floe_codegen::generate_html;
use floe_slice::check_source;

use crate::{compiled, everything, repository};

/// The page of a contract in one text; classes and optionals are shown like everything else.
fn page(contract: &str) -> String {
    let compilation = check_source(contract.as_bytes());
    let mut findings = compilation.diagnostics.iter();
    let is_legal = findings.all(|it| !it.is_error());
    assert!(is_legal, "{}", compilation.render());
    generate_html(&compilation.model, "Test")
}

#[track_caller]
fn assert_has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "expected `{text}` in {page}");
    }
}

/// The values of an attribute, in order.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let marker = format!(" {attribute}=\"");
    let parts = page.split(marker.as_str()).skip(1);
    parts
        .map(|part| part.split('"').next().expect("a quote ends it"))
        .collect()
}

#[test]
fn every_link_leads_to_one_place_on_the_page() {
    let contracts = ["Ice/Locator.ice", "IceStorm/IceStorm.ice"];
    let contracts = contracts.map(|name| repository("contracts").join(name));
    for model in [everything().model, compiled(&contracts).model] {
        let page = generate_html(&model, "All");
        let ids = values(&page, "id");
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "an anchor stands twice");
        let links = values(&page, "href");
        assert!(links.len() > 100, "{} links", links.len());
        for link in links {
            let anchor = link.strip_prefix('#').expect("links stay on the page");
            assert!(unique.contains(anchor), "{link} leads nowhere");
        }
    }
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let page = generate_html(&everything().model, "All");
    for text in [
        "<script", "src=", "url(", "@import", "<link", "http:", "https:",
    ] {
        assert!(!page.contains(text), "`{text}`");
    }
    assert_has(
        &page,
        &["prefers-color-scheme: dark", "color-scheme: light dark"],
    );
}

#[test]
fn text_of_a_contract_is_never_markup() {
    let page = page(
        "module M { /** <script>alert(1)</script> & {@link <b>} `<i>` @p <u> */
         const string s = \"</pre><script>\"; [\"cpp:<script>\"] enum E { a } }",
    );
    for text in ["<script", "<b>}", "<i>", "<u>"] {
        assert!(!page.contains(text), "`{text}` in {page}");
    }
    assert_has(&page, &["&lt;script&gt;alert(1)&lt;/script&gt; &amp;"]);
}

#[test]
fn comments_become_text_tables_and_links() {
    let page = page(
        "module Demo {
            exception Rejected { }
            /**
             * Greets.
             *
             * More of it, see {@link #greet} and {@link Rejected}:
             *
             * - one `thing`
             *   in two lines
             * - another
             *
             * ```
             * greet(<x>)
             * ```
             *
             * @see Rejected
             */
            interface Greeter {
                /**
                 * Says it.
                 *
                 * @param name Who, see {@link Greeter#greet}.
                 * @return The greeting
                 *   in full.
                 * @throws Rejected If the name is rude.
                 * @remark Twice.
                 */
                idempotent string greet(string name, out int count) throws Rejected;
            }
        }",
    );
    assert_has(
        &page,
        &[
            "<p>Greets.</p>",
            "<a href=\"#Demo.Greeter.greet\"><code>greet</code></a>",
            "<a href=\"#Demo.Rejected\"><code>Rejected</code></a>",
            "<li>one <code>thing</code>\nin two lines</li>\n<li>another</li>",
            "<pre>greet(&lt;x&gt;)</pre>",
            "<b>See</b> <a href=\"#Demo.Rejected\">",
            "<td><code>name</code></td><td>in</td>",
            "<td>returns</td>",
            "<p>The greeting\nin full.</p>",
            "<td><code><a href=\"#Demo.Rejected\">Rejected</a></code></td><td><p>If the name is rude.</p>",
            "<p>Twice.</p>",
            "<b>Used by</b> <a href=\"#Demo.Greeter.greet\">Greeter::greet</a>",
        ],
    );
}

#[test]
fn a_remark_of_several_lines_stays_together() {
    let page = page(
        "module Demo { interface I {
            /**
             * Counts.
             * @return The number.
             * @remark It counts
             * all of them.
             */
            int count(); } }",
    );
    assert_has(
        &page,
        &["<p>It counts\nall of them.</p>", "<p>The number.</p>"],
    );
}

#[test]
fn numbers_are_shown_as_a_contract_writes_them() {
    let page = page(
        "module Demo { const float Short = 0.1; const double Long = 1.5e300;
            struct S { float part = 0.7; int count = 3; } }",
    );
    assert_has(
        &page,
        &[
            "<b>Short</b> = 0.1;",
            "<b>Long</b> = 1.5e300;",
            "<code>0.7</code>",
        ],
    );
}

#[test]
fn what_is_deprecated_says_so() {
    let page = page(
        "module Demo {
            [\"deprecated:use `New`\"] enum Old { a }
            /** @deprecated use {@link New} */ enum Older { a }
            enum New { [\"deprecated\"] a, b }
        }",
    );
    assert_has(
        &page,
        &[
            "<b>Deprecated</b>: use <a href=\"#Demo.New\"><code>New</code></a>",
            "<a class=\"old\" href=\"#Demo.Older\">Older</a>",
            "<p class=\"deprecated\"><b>Deprecated</b></p>",
        ],
    );
    assert_eq!(page.matches("<b>Deprecated</b>").count(), 3);
}

#[test]
fn every_kind_of_definition_is_shown() {
    let page = page(
        "module M {
            const double half = 0.5;
            enum E { a = 3 }
            struct S { E e = a; string s = \"x\"; }
            sequence<S> Q;
            dictionary<string, Q> D;
            exception X { optional(2) int code; }
            exception Y extends X { }
            class C(7) { Object any; C next; }
            interface I { [\"amd\"] void op(Object* o, I* i, out optional(1) D d) throws Y; }
            interface J extends I { }
            class K extends C implements I { C next2; optional(3) int count(optional(4) C c); }
        }",
    );
    assert_has(
        &page,
        &[
            "<b>half</b> = 0.5;",
            "<tr id=\"M.E.a\">",
            "<code>&quot;x&quot;</code>",
            "&lt;<a href=\"#M.S\">S</a>&gt; <b>Q</b>;",
            ", <a href=\"#M.Q\">Q</a>&gt; <b>D</b>;",
            "(2) <span class=\"kw\">int</span>",
            "<b>Extended by</b> <a href=\"#M.Y\">Y</a>",
            "<b>C</b>(7)",
            "[&quot;amd&quot;]",
            "<a href=\"#M.I\">I</a>* i",
            "<b>Inherits</b> <a href=\"#M.I.op\">I::op</a>",
            "<span class=\"kw\">implements</span> <a href=\"#M.I\">I</a>",
            "id=\"M.K.count\"",
            "<span class=\"kw\">optional</span>(4) <a href=\"#M.C\">C</a>",
        ],
    );
}
