//! Doc comments: text, tags, links.

use floe_slice::model::Metadata;

use super::{Page, escape, links};

/// A doc comment, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Comment<'d> {
    /// The text before the first tag, and remarks.
    pub(super) text: Vec<&'d str>,
    pub(super) tags: Vec<Tag<'d>>,
}

/// `@throws Rejected If the name is rude.`
#[derive(Debug, PartialEq)]
pub(super) struct Tag<'d> {
    /// Without the `@`; synonyms have one name: `return`, `throws`.
    pub(super) tag: &'static str,
    /// All of its text, over several lines.
    pub(super) text: String,
    /// Where the lines behind the first one begin in the comment.
    rest: Vec<&'d str>,
}

impl Tag<'_> {
    /// The first word, and what follows it.
    pub(super) fn named(&self) -> (&str, &str) {
        let (name, text) = self
            .text
            .split_once(char::is_whitespace)
            .unwrap_or((&self.text, ""));
        (name.trim_matches('`'), text.trim())
    }
}

impl<'d> Comment<'d> {
    pub(super) fn parse(doc: Option<&'d str>) -> Self {
        let mut comment = Self::default();
        let (mut in_fence, mut in_remark) = (false, false);
        for line in doc.unwrap_or("").lines() {
            let inner = line.trim_start();
            in_fence ^= inner.starts_with("```");
            let found = (!in_fence).then(|| tag(inner)).flatten();
            in_remark = match found {
                Some((tag, _)) => tag == "remark",
                None => in_remark,
            };
            match (found, comment.tags.last_mut()) {
                (Some(("remark", text)), _) => comment.text.extend(["", text]),
                (None, _) if in_remark => comment.text.push(line),
                (Some((tag, text)), _) => comment.tags.push(Tag {
                    tag,
                    text: text.to_owned(),
                    rest: Vec::new(),
                }),
                (None, Some(last)) => last.rest.push(inner),
                (None, None) => comment.text.push(line),
            }
        }
        for tag in &mut comment.tags {
            for line in std::mem::take(&mut tag.rest) {
                tag.text.push('\n');
                tag.text.push_str(line);
            }
            tag.text.truncate(tag.text.trim_end().len());
        }
        comment
    }

    /// The text of the first tag of this kind.
    pub(super) fn tag(&self, wanted: &str) -> Option<&str> {
        let mut tags = self.tags.iter();
        tags.find(|tag| tag.tag == wanted)
            .map(|tag| tag.text.as_str())
    }
}

fn tag(line: &str) -> Option<(&'static str, &str)> {
    let (word, text) = line
        .strip_prefix('@')?
        .split_once(char::is_whitespace)
        .unwrap_or((&line[1..], ""));
    let tag = match word {
        "param" => "param",
        "return" | "returns" => "return",
        "throws" | "throw" | "exception" => "throws",
        "see" => "see",
        "deprecated" => "deprecated",
        "remark" | "remarks" => "remark",
        _ => return None,
    };
    Some((tag, text.trim()))
}

/// Why something is deprecated, if it is: empty if nobody says why.
pub(super) fn deprecation(metadata: &[Metadata], doc: Option<&str>) -> Option<String> {
    let directive = metadata.iter().find_map(|it| {
        let (word, text) = it.text.split_once(':').unwrap_or((&it.text, ""));
        matches!(word, "deprecated" | "deprecate").then(|| text.to_owned())
    });
    let comment = || Comment::parse(doc).tag("deprecated").map(str::to_owned);
    match directive {
        Some(text) if text.is_empty() => Some(comment().unwrap_or_default()),
        Some(text) => Some(text),
        None => comment(),
    }
}

impl Page<'_> {
    /// The text of a comment of `scope` as paragraphs, lists and code.
    pub(super) fn text(&self, lines: &[&str], scope: &str) -> String {
        let mut html = String::new();
        let mut block: Vec<&str> = Vec::new();
        let mut lines = lines.iter();
        while let Some(line) = lines.next() {
            let inner = line.trim();
            let is_item = inner.starts_with("- ") || inner.starts_with("* ");
            let in_list = block.first().is_some_and(|first| is_list(first));
            if inner.starts_with("```") {
                html.push_str(&self.block(&std::mem::take(&mut block), scope));
                let code: Vec<&str> = lines
                    .by_ref()
                    .take_while(|line| !line.trim_start().starts_with("```"))
                    .copied()
                    .collect();
                html.push_str(&format!("<pre>{}</pre>\n", escape(&code.join("\n"))));
            } else if inner.is_empty() || is_item && !in_list {
                html.push_str(&self.block(&std::mem::take(&mut block), scope));
                block.extend(is_item.then_some(inner));
            } else {
                block.push(inner);
            }
        }
        html.push_str(&self.block(&block, scope));
        html
    }

    /// A paragraph, or the items of a list.
    fn block(&self, lines: &[&str], scope: &str) -> String {
        let Some(first) = lines.first() else {
            return String::new();
        };
        if !is_list(first) {
            return format!("<p>{}</p>\n", self.inline(&lines.join("\n"), scope));
        }
        let mut items: Vec<String> = Vec::new();
        for line in lines {
            match (is_list(line), items.last_mut()) {
                (false, Some(last)) => {
                    last.push('\n');
                    last.push_str(line);
                }
                _ => items.push(line[2..].to_owned()),
            }
        }
        let items: String = items
            .iter()
            .map(|item| format!("<li>{}</li>\n", self.inline(item, scope)))
            .collect();
        format!("<ul>\n{items}</ul>\n")
    }

    /// Text with `{@link Name}`, `@p name` and code between backquotes.
    pub(super) fn inline(&self, text: &str, scope: &str) -> String {
        let mut html = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '`', '@']) {
            let (before, marked) = rest.split_at(at);
            html.push_str(&escape(before));
            let (done, behind) = self.marked(marked, scope);
            html.push_str(&done);
            rest = behind;
        }
        html.push_str(&escape(rest));
        html
    }

    /// Splits a text that begins with a mark into the mark and the rest.
    fn marked<'t>(&self, text: &'t str, scope: &str) -> (String, &'t str) {
        if let Some(link) = text.strip_prefix("{@link ")
            && let Some((target, behind)) = link.split_once('}')
        {
            return (self.reference(target, scope), behind);
        }
        if let Some(code) = text.strip_prefix('`')
            && let Some((code, behind)) = code.split_once('`')
        {
            let html = match self.links.resolve(code, scope) {
                Some(_) => self.reference(code, scope),
                None => format!("<code>{}</code>", escape(code)),
            };
            return (html, behind);
        }
        if let Some(name) = text.strip_prefix("@p ") {
            let end = name.find(|it: char| !it.is_alphanumeric() && it != '_');
            let (name, behind) = name.split_at(end.unwrap_or(name.len()));
            return (format!("<code>{}</code>", escape(name)), behind);
        }
        (escape(&text[..1]), &text[1..])
    }

    /// A name in a comment, with a link if it is on the page.
    pub(super) fn reference(&self, target: &str, scope: &str) -> String {
        let shown = target.trim().trim_start_matches('#').replace('#', "::");
        let code = format!("<code>{}</code>", escape(&shown));
        match self.links.resolve(target.trim_start_matches('#'), scope) {
            Some(scoped) => format!("<a href=\"#{}\">{code}</a>", links::anchor(&scoped)),
            None => code,
        }
    }
}

fn is_list(line: &str) -> bool {
    line.starts_with("- ") || line.starts_with("* ")
}
