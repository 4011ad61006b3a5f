//! Layout: tokens to source text that reads as if `rustfmt` had written it.

use proc_macro2::TokenStream;

/// The tokens as formatted text, blank lines between items, behind the lines of `header`.
///
/// # Panics
/// If the tokens are no Rust: a mistake of the generator, never of a contract.
pub(crate) fn layout(header: &str, tokens: TokenStream) -> String {
    let file = syn::parse2(tokens).expect("generated tokens are valid Rust");
    let text = spaced(&prettyplease::unparse(&file));
    format!("{header}\n{text}")
}

/// Puts a blank line between an item and the next one of the same depth.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 16);
    let mut previous = "";
    for line in text.lines() {
        if ends_item(previous) && starts_item(line) && indent(previous) >= indent(line) {
            spaced.push('\n');
        }
        spaced.push_str(line);
        spaced.push('\n');
        previous = line;
    }
    spaced
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn ends_item(line: &str) -> bool {
    let line = line.trim();
    line == "}" || line.ends_with("{}") || line.ends_with(';')
}

fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    ["///", "#[", "pub ", "impl", "fn ", "async fn "]
        .iter()
        .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn items_are_parted_by_one_blank_line_and_statements_are_not() {
        let text = layout(
            "// head\n",
            quote! {
                pub const A: i32 = 1;
                impl B { fn c() { const D: i32 = 1; call(D); } fn e() {} }
            },
        );
        let expected = "// head\n\npub const A: i32 = 1;\n\nimpl B {\n    fn c() {\n        const D: i32 = 1;\n        call(D);\n    }\n\n    fn e() {}\n}\n";
        assert_eq!(text, expected);
    }
}
