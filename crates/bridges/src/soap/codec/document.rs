//! A document of XML, read from beginning to end by quick-xml, checked, and kept as a flat list of its elements.
//!
//! An optional member, the length of a sequence and an entry of a header must be looked for before they are read, so
//! events alone will not do. The list holds names and texts where they stand in the input, and a few numbers for each
//! element; the input of a hostile peer makes at most 200,000 of them.

use std::borrow::Cow;
use std::fmt;

use super::parser::Parser;

/// A document.
#[derive(Debug)]
pub struct Document<'x> {
    /// In the order of their beginnings; the root is the first.
    pub(super) elements: Vec<Element<'x>>,
    /// By element, in order.
    pub(super) attributes: Vec<Attribute>,
    /// Namespaces that were met; the first is none.
    pub(super) namespaces: Vec<String>,
}

/// The place of an element in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementId(u32);

#[derive(Debug)]
pub(super) struct Element<'x> {
    pub(super) namespace: u32,
    pub(super) name: &'x str,
    /// Its own text, without that of its children.
    pub(super) text: Cow<'x, str>,
    pub(super) children: u32,
    /// The place behind it and all that it contains.
    pub(super) next: u32,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) element: u32,
    pub(super) namespace: u32,
    pub(super) name: String,
    pub(super) value: String,
}

/// Text that is no document, or one that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlError {
    message: String,
    /// The byte at which it was found.
    at: u64,
}

impl<'x> Document<'x> {
    /// Reads a document.
    ///
    /// # Errors
    /// [`XmlError`]: it is not well-formed, has a document type or a processing instruction, or more than the limits allow.
    pub fn parse(text: &'x str) -> Result<Self, XmlError> {
        let mut parser = Parser::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        let parsed = parser.run();
        let at = parser.position();
        parsed.map_err(|message| XmlError { message, at })?;
        Ok(parser.into_document())
    }

    /// The outermost element.
    pub fn root(&self) -> ElementId {
        ElementId(0)
    }

    /// The namespace of an element; empty if it has none.
    pub fn namespace(&self, id: ElementId) -> &str {
        &self.namespaces[self.element(id).namespace as usize]
    }

    /// The name of an element within its namespace.
    pub fn name(&self, id: ElementId) -> &str {
        self.element(id).name
    }

    /// True if an element has this name in this namespace.
    pub fn is(&self, id: ElementId, namespace: &str, name: &str) -> bool {
        self.name(id) == name && self.namespace(id) == namespace
    }

    /// The text of an element, without that of its children.
    pub fn text(&self, id: ElementId) -> &str {
        &self.element(id).text
    }

    /// How many children an element has.
    pub fn child_count(&self, id: ElementId) -> usize {
        self.element(id).children as usize
    }

    /// The children of an element.
    pub fn children(&self, id: ElementId) -> impl Iterator<Item = ElementId> + '_ {
        let end = self.element(id).next;
        let mut at = id.0 + 1;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let child = ElementId(at);
                at = self.elements[at as usize].next;
                child
            })
        })
    }

    /// The first child with this name in this namespace.
    pub fn child(&self, id: ElementId, namespace: &str, name: &str) -> Option<ElementId> {
        self.children(id).find(|it| self.is(*it, namespace, name))
    }

    /// The value of an attribute; the empty namespace is none.
    pub fn attribute(&self, id: ElementId, namespace: &str, name: &str) -> Option<&str> {
        let from = self.attributes.partition_point(|it| it.element < id.0);
        let mut own = self.attributes[from..].iter();
        own.by_ref()
            .take_while(|it| it.element == id.0)
            .find(|it| it.name == name && self.namespaces[it.namespace as usize] == namespace)
            .map(|it| it.value.as_str())
    }

    /// The place where the children of an element begin, or its end if there are none.
    pub(super) fn first(&self, id: ElementId) -> Cursor {
        Cursor {
            at: id.0 + 1,
            end: self.element(id).next,
        }
    }

    /// Takes the next child.
    pub(super) fn take(&self, cursor: &mut Cursor) -> Option<ElementId> {
        if cursor.at >= cursor.end {
            return None;
        }
        let id = ElementId(cursor.at);
        cursor.at = self.element(id).next;
        Some(id)
    }

    fn element(&self, id: ElementId) -> &Element<'x> {
        &self.elements[id.0 as usize]
    }
}

/// A place among the children of an element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    at: u32,
    end: u32,
}

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no document of XML at byte {}: {}",
            self.at, self.message
        )
    }
}

impl std::error::Error for XmlError {}

#[cfg(test)]
mod tests {
    use super::super::parser::{ATTRIBUTE_MAX, DEPTH_MAX, ELEMENT_MAX, NAMESPACE_MAX};
    use super::*;

    fn error(text: &str) -> String {
        Document::parse(text).expect_err("it is refused").message
    }

    #[test]
    fn names_texts_and_attributes_are_found_where_they_are() {
        let text = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a:r xmlns:a='u1' xmlns='u2' k='&lt;1' a:k=\"&#x41;\">\n \
            <b>x &amp; <![CDATA[<y>]]><!-- no --> &#233;\r\nz</b><c xmlns=''/><a:d><b/></a:d></a:r> ";
        let document = Document::parse(text).expect("it is one");
        let root = document.root();
        assert!(document.is(root, "u1", "r"));
        let children: Vec<_> = document.children(root).collect();
        assert_eq!((children.len(), document.child_count(root)), (3, 3));
        assert!(document.is(children[0], "u2", "b"));
        assert_eq!(document.text(children[0]), "x & <y> é\nz");
        assert!(document.is(children[1], "", "c"));
        assert!(document.is(children[2], "u1", "d"));
        assert_eq!(document.attribute(root, "", "k"), Some("<1"));
        assert_eq!(document.attribute(root, "u1", "k"), Some("A"));
        assert_eq!(document.attribute(children[0], "", "k"), None);
        let inner = document.child(children[2], "u2", "b").expect("it is there");
        assert_eq!(document.children(inner).count(), 0);
    }

    #[test]
    fn a_prefix_means_what_it_means_where_it_stands() {
        let text = "<p:a xmlns:p='u1'><p:a xmlns:p='u2'/><p:a/></p:a>";
        let document = Document::parse(text).expect("it is one");
        let spaces: Vec<_> = document
            .children(document.root())
            .map(|it| document.namespace(it))
            .collect();
        assert_eq!(spaces, ["u2", "u1"]);
    }

    #[test]
    fn entities_are_never_expanded() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\">]><a>&b;</a>";
        assert_eq!(
            error(bomb),
            "it has a document type, which SOAP does not allow"
        );
        assert!(error("<a>&b;</a>").starts_with("it has the entity \"b\""));
        assert!(error("<a b='&b;'/>").starts_with("it has the entity \"b\""));
        assert_eq!(
            error("<?x y?><a/>"),
            "it has a processing instruction, which SOAP does not allow"
        );
    }

    #[test]
    fn documents_that_are_not_well_formed_are_refused() {
        for text in [
            "",
            " ",
            "a",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a/>x",
            "x<a/>",
            "<a b=1/>",
            "<a b='1' b='2'/>",
            "<p:a/>",
            "<a p:b=''/>",
            "<a>\u{1}</a>",
            "<a>&#0;</a>",
            "<a>&#xFFFF;</a>",
            "<a>&lt</a>",
            "<a><b></a></b>",
            "<1/>",
            "< a/>",
            "<a:b:c xmlns:a='u'/>",
            "<a b='<'/>",
            "<a><!-- -- --></a>",
            "&lt;<a/>",
            "<a>&#1114112;</a>",
            "<a b='&#0;'/>",
            "<?xml version=\"1.0\" encoding=\"latin1\"?><a/>",
            "</a>",
        ] {
            assert!(Document::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_peer_can_make_grow_has_limits() {
        let deep = "<a>".repeat(DEPTH_MAX + 1);
        assert!(error(&deep).contains("deep"));
        let many = format!("<a>{}</a>", "<b/>".repeat(ELEMENT_MAX));
        assert!(error(&many).contains("elements"));
        let attributes: String = (0..=ATTRIBUTE_MAX).map(|it| format!(" a{it}=''")).collect();
        assert!(error(&format!("<a{attributes}/>")).contains("attributes"));
        let spaces: String = (0..=NAMESPACE_MAX)
            .map(|it| format!("<b xmlns='u{it}'/>"))
            .collect();
        assert!(error(&format!("<a>{spaces}</a>")).contains("namespaces"));
        let spaces: String = (0..200).map(|it| format!(" xmlns:a{it}='u{it}'")).collect();
        assert!(Document::parse(&format!("<a{spaces}/>")).is_err());
    }
}
