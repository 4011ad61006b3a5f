//! Source text, item by item; `layout.rs` breaks the lines.

mod imports;
mod layout;
mod token;

use proc_macro2::TokenStream;

pub(crate) use imports::Imports;
pub(crate) use layout::{LaidOut, layout};

/// Source text that grows item by item, with a blank line between items.
pub(crate) struct Text {
    text: String,
    /// Modules that are open; what is added stands in the innermost.
    depth: usize,
    /// True if the next item is the first one of its module, or of the text.
    is_first: bool,
    /// True if the next item follows a constant.
    is_after_constant: bool,
}

impl Text {
    /// Text that begins with a comment.
    pub(crate) fn new(header: &str) -> Self {
        Self {
            text: format!("{header}\n"),
            depth: 0,
            is_first: true,
            is_after_constant: false,
        }
    }

    /// How many modules are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Adds items, laid out for the depth at which they stand.
    pub(crate) fn items(&mut self, tokens: TokenStream) {
        self.laid_out(&layout::layout_whole(tokens, self.depth));
    }

    /// Adds items that [`layout`] gave for the depth at which they stand.
    pub(crate) fn laid_out(&mut self, items: &str) {
        if items.is_empty() {
            return;
        }
        let is_constant = is_constant(items);
        let stands_together = is_constant && self.is_after_constant;
        if !self.is_first && !stands_together {
            self.text.push('\n');
        }
        self.is_first = false;
        self.is_after_constant = is_constant;
        self.text.push_str(items);
    }

    /// Opens a module: an item `mod name {}`, into which the next items go.
    pub(crate) fn open(&mut self, module: TokenStream) {
        self.items(module);
        self.text.truncate(self.text.len() - "}\n".len());
        self.text.push('\n');
        self.depth += 1;
        self.is_first = true;
    }

    /// Closes the innermost module.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.text.push_str(&"    ".repeat(self.depth));
        self.text.push_str("}\n");
        self.is_first = false;
        self.is_after_constant = false;
    }

    /// The whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Returns true if this is a constant without a comment: several of them stand together.
fn is_constant(items: &str) -> bool {
    items.trim_start().starts_with("pub const ") && items.lines().count() == 1
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn items_are_parted_by_one_blank_line_and_statements_are_not() {
        let mut text = Text::new("// head\n");
        text.items(quote! {
            pub const A: i32 = 1;
            impl B { fn c() { const D: i32 = 1; call(D); } fn e() {} }
        });
        let expected = "// head\n\npub const A: i32 = 1;\n\nimpl B {\n    fn c() {\n        const D: i32 = 1;\n        call(D);\n    }\n\n    fn e() {}\n}\n";
        assert_eq!(text.finish(), expected);
    }

    #[test]
    fn a_lone_entry_within_a_macro_gets_no_comma_however_long_it_is() {
        for len in 1..130 {
            let long = crate::names::ident(&"N".repeat(len));
            let mut text = Text::new("// head");
            text.items(quote!(
                a::b! { pub enum E { One(super::#long) } from super::#long { One } }
            ));
            text.items(quote!(a::c!(One = "1" { #long } slices { "2" { #long } }); ));
            let text: String = text.finish().split_whitespace().collect();
            let lone = format!("One(super::{long})");
            assert!(text.contains(&lone), "{len}: {text}");
            assert!(!text.contains(&format!("{long},")), "{len}: {text}");
            assert!(!text.contains("One,}"), "{len}: {text}");
        }
    }

    #[test]
    fn a_comment_that_rust_refuses_is_an_attribute() {
        let mut text = Text::new("// head");
        for doc in [" plain \u{e9}", " to the \u{202e}left", " a\rb"] {
            text.items(quote!(#[doc = #doc] pub struct A;));
        }
        let text = text.finish();
        assert!(text.contains("/// plain \u{e9}\n"), "{text}");
        assert!(
            text.contains("#[doc = \" to the \\u{202e}left\"]\n"),
            "{text}"
        );
        assert!(text.contains("#[doc = \" a\\rb\"]\n"), "{text}");
    }

    #[test]
    fn modules_hold_their_items_indented() {
        let mut text = Text::new("// head\n");
        text.open(quote!(
            pub mod a {}
        ));
        text.open(quote!(
            pub mod b {}
        ));
        text.items(quote!(
            pub const A: i32 = 1;
        ));
        text.close();
        text.items(quote!(
            pub const B: i32 = 1;
        ));
        text.close();
        let expected = "// head\n\npub mod a {\n    pub mod b {\n        pub const A: i32 = 1;\n    }\n\n    pub const B: i32 = 1;\n}\n";
        assert_eq!(text.finish(), expected);
    }
}
