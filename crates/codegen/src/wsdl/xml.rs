//! XML text: elements, attributes, escapes.
//!
//! A generator is built into the build script of every program with a contract, and this is all the XML that it needs:
//! that is why no library writes it.

/// XML that grows element by element.
pub(super) struct XmlText {
    text: String,
    /// How many elements are around it.
    depth: usize,
    /// The elements that are open, outermost first.
    open: Vec<String>,
}

impl XmlText {
    pub(super) fn new() -> Self {
        Self {
            text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(),
            depth: 0,
            open: Vec::new(),
        }
    }

    /// XML that belongs into other XML, so deep.
    pub(super) fn within(depth: usize) -> Self {
        Self {
            text: String::new(),
            depth,
            open: Vec::new(),
        }
    }

    /// Appends XML as it is.
    pub(super) fn raw(&mut self, xml: &str) {
        self.text.push_str(xml);
    }

    /// Opens an element.
    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name.to_owned());
    }

    /// Opens an element with so many attributes that each has a line.
    pub(super) fn open_with(&mut self, name: &str, attributes: &[(String, String)]) {
        self.indent();
        self.text.push_str(&format!("<{name}"));
        for (name, value) in attributes {
            self.text
                .push_str(&format!("\n    {name}=\"{}\"", escape(value)));
        }
        self.text.push_str(">\n");
        self.open.push(name.to_owned());
    }

    /// An element without content.
    pub(super) fn leaf(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// An element with a text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.indent();
        self.text
            .push_str(&format!("<{name}>{}</{name}>\n", escape(text)));
    }

    /// Closes the innermost element.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            self.text.push_str(&format!("</{name}>\n"));
        }
    }

    fn start(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.text.push_str(&format!("<{name}"));
        for (name, value) in attributes {
            self.text
                .push_str(&format!(" {name}=\"{}\"", escape(value)));
        }
    }

    fn indent(&mut self) {
        self.text
            .push_str(&"  ".repeat(self.depth + self.open.len()));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// A text that XML takes as it is, also within quotes. Characters that XML 1.0 cannot hold become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup_and_always_xml() {
        assert_eq!(
            escape("<a b=\"c\">&\u{1}\n]]>é\u{ffff}"),
            "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}\n]]&gt;é\u{fffd}"
        );
    }
}
