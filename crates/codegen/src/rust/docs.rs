//! Doc comments and deprecation, as attributes.

use floe_slice::model::{Metadata, Operation};
use proc_macro2::TokenStream;
use quote::quote;

use super::check::mapped;
use super::scope::snake_ident;
use crate::names;

/// The `#[doc]` attributes for a comment, or for `fallback` where there is none.
pub(super) fn docs(doc: Option<&str>, fallback: &str) -> TokenStream {
    attributes(&render(doc.unwrap_or(""), ""), fallback)
}

/// The `#[doc]` attributes of a member or enumerator: its comment. A name that is another one in Slice is told,
/// and how to choose another if the one that it has looks broken.
pub(super) fn named(
    doc: Option<&str>,
    kind: &str,
    name: &str,
    metadata: &[Metadata],
) -> TokenStream {
    about_name(render(doc.unwrap_or(""), ""), kind, name, metadata)
}

fn about_name(rendered: String, kind: &str, name: &str, metadata: &[Metadata]) -> TokenStream {
    let note = if mapped(metadata) && rendered.is_empty() {
        format!("Slice {kind} `{name}`.")
    } else if !mapped(metadata) && names::looks_broken(name) {
        format!("Slice {kind} `{name}`; `[\"rust:identifier:...\"]` gives it another name here.")
    } else {
        String::new()
    };
    let gap = match rendered.is_empty() || note.is_empty() {
        true => "",
        false => "\n\n",
    };
    attributes(&format!("{rendered}{gap}{note}"), "")
}

/// The `#[doc]` attributes for an operation: its comment, and what is known of its parameters.
pub(super) fn operation_docs(operation: &Operation) -> TokenStream {
    let mut parameters = String::new();
    for parameter in &operation.parameters {
        if let Some(doc) = &parameter.doc {
            let name = snake_ident(&parameter.name, &parameter.metadata);
            let text = indented(doc.trim());
            let returns = if parameter.is_out { "returns " } else { "" };
            parameters.push_str(&format!("- {returns}`{name}`:{text}\n"));
        }
    }
    let rendered = render(operation.doc.as_deref().unwrap_or(""), &parameters);
    about_name(rendered, "operation", &operation.name, &operation.metadata)
}

fn attributes(rendered: &str, fallback: &str) -> TokenStream {
    let text = if rendered.is_empty() {
        fallback
    } else {
        rendered
    };
    let lines = text.lines().map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!(" {line}")
        }
    });
    quote!(#(#[doc = #lines])*)
}

/// `#[deprecated]` if the metadata say so.
pub(super) fn deprecated(metadata: &[Metadata]) -> Option<TokenStream> {
    let directive = metadata.iter().find_map(deprecation)?;
    Some(match directive {
        "" => quote!(#[deprecated]),
        note => quote!(#[deprecated(note = #note)]),
    })
}

/// The message of a deprecation directive, empty if it has none.
pub(super) fn deprecation(metadata: &Metadata) -> Option<&str> {
    let (directive, note) = metadata
        .text
        .split_once(':')
        .unwrap_or((&metadata.text, ""));
    matches!(directive, "deprecated" | "deprecate").then_some(note.trim())
}

/// A comment as Markdown: tags become a list behind the text, `items` at its head.
///
/// Nothing in it becomes Rust code that a documentation test would run: fences are marked as text,
/// and no line is indented as far as a code block.
fn render(doc: &str, items: &str) -> String {
    let mut text = String::new();
    let mut list = items.to_owned();
    let (mut in_list, mut fences) = (false, Fences::default());
    for line in doc.trim().lines().map(str::trim_end) {
        let inner = line.trim_start();
        if let Some(line) = fences.take(line) {
            match in_list {
                true => list.push_str(&format!("  {line}\n")),
                false => text.push_str(&format!("{line}\n")),
            }
        } else if let Some(item) = tag(&inline(inner)) {
            in_list = true;
            list.push_str(&format!("{}\n", without_code(&format!("- {item}"))));
        } else if !in_list {
            let indent = (line.len() - inner.len()).min(MAX_INDENT);
            let inner = without_code(&inline(inner));
            text.push_str(&format!("{:indent$}{inner}\n", ""));
        } else if !inner.is_empty() {
            list.push_str(&format!("  {}\n", without_code(&inline(inner))));
        }
    }
    match (fences.end(), in_list) {
        (Some(line), true) => list.push_str(&format!("  {line}\n")),
        (Some(line), false) => text.push_str(&format!("{line}\n")),
        (None, _) => {}
    }
    let (text, list) = (text.trim_end(), list.trim_end());
    let gap = if text.is_empty() || list.is_empty() {
        ""
    } else {
        "\n\n"
    };
    format!("{text}{gap}{list}")
}

/// The text of a list item behind its name, all lines but the first one indented.
fn indented(doc: &str) -> String {
    let (mut text, mut fences) = (String::new(), Fences::default());
    for (index, line) in doc.lines().enumerate() {
        let fence = fences.take(line);
        let gap = if index == 0 && fence.is_none() {
            " "
        } else {
            "\n  "
        };
        text.push_str(gap);
        text.push_str(&fence.unwrap_or_else(|| without_code(&inline(line))));
    }
    if let Some(line) = fences.end() {
        text.push_str(&format!("\n  {line}"));
    }
    text
}

/// Code between two fences: lines that begin with three backquotes or tildes.
#[derive(Default)]
struct Fences {
    open: Option<&'static str>,
}

impl Fences {
    /// The line as Markdown that is no Rust, if it is a fence or code; `None` if it is text.
    fn take(&mut self, line: &str) -> Option<String> {
        let fence = fence(line.trim_start());
        match self.open {
            None => {
                self.open = Some(fence?);
                Some(format!("{}text", fence?))
            }
            Some(open) if fence == Some(open) => {
                self.open = None;
                Some(open.to_owned())
            }
            Some(_) => Some(line.to_owned()),
        }
    }

    /// The fence that is missing at the end.
    fn end(self) -> Option<&'static str> {
        self.open
    }
}

/// The fence that a line begins with. Backquotes with others behind them are code within a line.
fn fence(line: &str) -> Option<&'static str> {
    let fence = ["```", "~~~"].into_iter().find(|it| line.starts_with(it))?;
    let is_inline = line.trim_start_matches('`').contains('`');
    (fence == "~~~" || !is_inline).then_some(fence)
}

/// A line of text, in which neither quotes nor items of lists begin with code.
fn without_code(line: &str) -> String {
    let (mut rest, mut marks, mut is_indented) = (line, String::new(), false);
    while let Some((mark, behind)) = block_mark(rest.trim_start()) {
        marks.push_str(mark);
        marks.push(' ');
        rest = behind;
        let blanks = &rest[..rest.len() - rest.trim_start().len()];
        is_indented |= blanks.len() > 4 || blanks.contains('\t');
    }
    let inner = rest.trim_start();
    match (marks.is_empty(), fence(inner)) {
        (false, Some(_)) => format!("{marks}\\{inner}"),
        (false, None) if is_indented => format!("{marks}{inner}"),
        _ => line.to_owned(),
    }
}

/// The mark of a quote or of an item of a list that a line begins with, and what follows it.
fn block_mark(line: &str) -> Option<(&str, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let len = match line.as_bytes().get(digits)? {
        b'>' if digits == 0 => return Some(line.split_at(1)),
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if digits > 0 => digits + 1,
        _ => return None,
    };
    let (mark, behind) = line.split_at(len);
    behind.starts_with([' ', '\t']).then_some((mark, behind))
}

/// One less than makes a code block in Markdown.
const MAX_INDENT: usize = 3;

/// The list item for a line that begins with a tag.
fn tag(line: &str) -> Option<String> {
    let (tag, rest) = line
        .strip_prefix('@')?
        .split_once(' ')
        .unwrap_or((&line[1..], ""));
    let rest = rest.trim();
    let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let named = |label: &str| {
        let text = text.trim_start();
        let colon = if text.is_empty() { "" } else { ": " };
        format!("{label}`{}`{colon}{text}", name.trim_matches('`'))
    };
    Some(match tag {
        "param" => named(""),
        "throws" | "exception" => named("fails with "),
        "return" | "returns" => format!("returns {rest}"),
        "see" => format!("see `{}`", rest.trim_matches('`')),
        "deprecated" => format!("deprecated: {rest}"),
        "remark" | "remarks" => rest.to_owned(),
        _ => return None,
    })
}

/// Replaces `{@link Name#member}` and `@p name` by code.
fn inline(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{@link ") {
        let Some((target, behind)) = after.split_once('}') else {
            break;
        };
        let target = target.trim().trim_start_matches('#').replace('#', "::");
        text.push_str(&format!("{before}`{target}`"));
        rest = behind;
    }
    text.push_str(rest);
    code_after(&text, "@p ")
}

fn code_after(text: &str, marker: &str) -> String {
    let mut parts = text.split(marker);
    let mut code = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let end = part
            .find(|character: char| !character.is_alphanumeric() && character != '_')
            .unwrap_or(part.len());
        code.push_str(&format!("`{}`{}", &part[..end], &part[end..]));
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_a_list_behind_the_text() {
        let doc = "Greets somebody.\n\nTwice, see {@link Greeter#other}.\n@param name Who,\n  in full.\n@return The greeting.\n@throws Rejected If the name is rude.\n@see Other";
        let expected = "Greets somebody.\n\nTwice, see `Greeter::other`.\n\n- `name`: Who,\n  in full.\n- returns The greeting.\n- fails with `Rejected`: If the name is rude.\n- see `Other`";
        assert_eq!(render(doc, ""), expected);
    }

    #[test]
    fn nothing_becomes_a_documentation_test() {
        let doc = "So:\n\n        call(it);\n\n```rust\n    it()\n```\n\n```\nopen";
        let expected = "So:\n\n   call(it);\n\n```text\n    it()\n```\n\n```text\nopen\n```";
        assert_eq!(render(doc, ""), expected);
    }

    #[test]
    fn fences_of_all_kinds_hold_text() {
        let cases = [
            ("~~~rust\n```\nit()\n~~~", "~~~text\n```\nit()\n~~~"),
            ("```one``` word", "```one``` word"),
            ("> ```\n> it()\n> ```", "> \\```\n> it()\n> \\```"),
            ("1. - ~~~rust\n     it()", "1. - \\~~~rust\n   it()"),
            (">      it()", "> it()"),
            ("-\t\tit()", "- it()"),
            ("- one\n-  two", "- one\n-  two"),
            (
                "@return it\n```\nit()\n```",
                "- returns it\n  ```text\n  it()\n  ```",
            ),
            ("@remark ```rust\nit()", "- \\```rust\n  it()"),
        ];
        for (doc, expected) in cases {
            assert_eq!(render(doc, ""), expected, "{doc}");
        }
    }

    #[test]
    fn the_code_of_a_parameter_is_text() {
        let model = floe_slice::check_source(
            b"module M { interface I {
                /**
                 * Runs.
                 * @param code As in
                 * ```
                 * it()
                 * ```
                 * @param how ```rust
                 * it()
                 */
                void run(string code, string how); } }",
        );
        let id = model.model.find("::M::I").expect("it is there");
        let operation = &model.model.own_operations(id)[0];
        let text = operation_docs(operation).to_string();
        for line in ["`code`: As in", "  ```text", "  it()", "  ```", "`how`:"] {
            assert!(text.contains(&format!("{line}\"")), "{line}: {text}");
        }
        assert_eq!(text.matches("```text").count(), 2, "{text}");
    }

    #[test]
    fn unknown_tags_and_broken_links_stay_as_they_are() {
        assert_eq!(
            render("mail me@example.org {@link x", ""),
            "mail me@example.org {@link x"
        );
        assert_eq!(render("@todo later", ""), "@todo later");
        assert_eq!(render("set @p count, then go", ""), "set `count`, then go");
    }
}
