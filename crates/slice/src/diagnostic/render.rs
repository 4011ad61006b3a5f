//! A diagnostic as plain text: message, place, excerpt with a caret, help.

use std::fmt::Write;

use super::{Diagnostic, Severity, Span};
use crate::source::SourceMap;

/// The longest excerpt of a line, in characters; longer lines are cut around the caret.
const MAX_EXCERPT: usize = 120;
/// How many characters before the caret stay when a line is cut.
const CONTEXT_BEFORE: usize = 60;

impl Diagnostic {
    /// The diagnostic as text of several lines, without colour, ending in a newline.
    ///
    /// ```text
    /// error[undefined-name]: no type named `Colour` is visible here
    ///  --> demo.ice:4:5
    ///   |
    /// 4 |     Colour paint;
    ///   |     ^^^^^^
    ///   = help: did you mean `Color`?
    /// ```
    pub fn render(&self, sources: &SourceMap) -> String {
        Renderer::new(self, sources, false).run(self)
    }

    /// Renders it with the colours of a terminal (ANSI escapes).
    pub fn render_colored(&self, sources: &SourceMap) -> String {
        Renderer::new(self, sources, true).run(self)
    }
}

/// The text of one diagnostic so far.
struct Renderer<'s> {
    sources: &'s SourceMap,
    /// The width of the largest line number.
    margin: usize,
    /// The ANSI codes of the severity, of places and of the end of both; empty without colour.
    strong: &'static str,
    faint: &'static str,
    plain: &'static str,
    text: String,
}

impl<'s> Renderer<'s> {
    fn new(diagnostic: &Diagnostic, sources: &'s SourceMap, has_colour: bool) -> Self {
        let labels = diagnostic.labels.iter().map(|label| label.span);
        let spans = diagnostic.span.into_iter().chain(labels);
        let widths = spans.map(|span| sources.position(span).line.to_string().len());
        let (strong, faint, plain) = match (has_colour, diagnostic.severity) {
            (false, _) => ("", "", ""),
            (true, Severity::Error) => ("\u{1b}[1;31m", "\u{1b}[1;34m", "\u{1b}[0m"),
            (true, Severity::Warning) => ("\u{1b}[1;33m", "\u{1b}[1;34m", "\u{1b}[0m"),
        };
        Self {
            sources,
            margin: widths.max().unwrap_or(1),
            strong,
            faint,
            plain,
            text: String::new(),
        }
    }

    fn run(mut self, diagnostic: &Diagnostic) -> String {
        let (strong, plain) = (self.strong, self.plain);
        let (severity, code) = (diagnostic.severity.as_str(), diagnostic.code.as_str());
        let message = &diagnostic.message;
        let _ = writeln!(self.text, "{strong}{severity}[{code}]{plain}: {message}");
        if let Some(span) = diagnostic.span {
            self.place(span, "-->", '^', strong, "");
        }
        for label in &diagnostic.labels {
            self.place(label.span, ":::", '-', self.faint, &label.message);
        }
        if let Some(span) = diagnostic.span {
            self.includes(span);
        }
        if let Some(help) = &diagnostic.help {
            self.note(&format!("help: {help}"));
        }
        self.text
    }

    /// A place with the line that it stands in and marks under its characters.
    fn place(&mut self, span: Span, arrow: &str, mark: char, colour: &str, message: &str) {
        let position = self.sources.position(span);
        let (path, line, column) = (position.path.display(), position.line, position.column);
        let (margin, faint, plain) = (self.margin, self.faint, self.plain);
        let (excerpt, padding, width) = excerpt(self.sources, span);
        let marks: String = std::iter::repeat_n(mark, width).collect();
        let marks = format!("{colour}{marks}{plain} {message}");
        let text = &mut self.text;
        let _ = writeln!(
            text,
            "{:margin$}{faint}{arrow}{plain} {path}:{line}:{column}",
            ""
        );
        let _ = writeln!(text, "{:margin$} {faint}|{plain}", "");
        let numbered = format!("{faint}{line:margin$} |{plain} {excerpt}");
        let _ = writeln!(text, "{}", numbered.trim_end());
        let marked = format!("{:margin$} {faint}|{plain} {:padding$}{marks}", "", "");
        let _ = writeln!(text, "{}", marked.trim_end());
    }

    /// Names the files through which an included file was reached.
    fn includes(&mut self, span: Span) {
        let mut from = self.sources.file(span.file).included_from;
        while let Some(include) = from {
            let position = self.sources.position(include);
            let (path, line) = (position.path.display(), position.line);
            self.note(&format!("included from {path}:{line}"));
            from = self.sources.file(include.file).included_from;
        }
    }

    fn note(&mut self, note: &str) {
        let (margin, faint, plain) = (self.margin, self.faint, self.plain);
        let _ = writeln!(self.text, "{:margin$} {faint}={plain} {note}", "");
    }
}

/// The line of a span made printable, the columns before the mark, and the width of the mark.
fn excerpt(sources: &SourceMap, span: Span) -> (String, usize, usize) {
    let file = sources.file(span.file);
    let start = file.position(span.start);
    let end = file.position(span.end);
    let line: Vec<char> = file.line(start.line).chars().collect();
    let first = (start.column - 1).min(line.len());
    let last = if end.line == start.line {
        (end.column - 1).clamp(first, line.len())
    } else {
        line.len()
    };
    let cut = if line.len() > MAX_EXCERPT {
        first.saturating_sub(CONTEXT_BEFORE)
    } else {
        0
    };
    let shown = &line[cut..line.len().min(cut + MAX_EXCERPT)];
    let before = printable(&line[cut..first]);
    let marked = printable(&line[first..last.min(cut + MAX_EXCERPT).max(first)]);
    (
        printable(shown),
        before.chars().count(),
        marked.chars().count().max(1),
    )
}

/// Characters that change the direction of the text around them, and so could hide what it says.
const REORDERING: &[char] = &[
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}',
    '\u{2069}',
];

/// Tabs become four spaces, other control characters a replacement that does nothing to a terminal.
fn printable(characters: &[char]) -> String {
    let mut text = String::new();
    for character in characters {
        match character {
            '\t' => text.push_str("    "),
            other if other.is_control() || REORDERING.contains(other) => text.push('\u{fffd}'),
            other => text.push(*other),
        }
    }
    text
}
