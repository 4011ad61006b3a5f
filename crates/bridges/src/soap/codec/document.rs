//! A document of XML, read from beginning to end by quick-xml, checked, and kept as a flat list of its elements.
//!
//! An optional member, the length of a sequence and an entry of a header must be looked for before they are read, so
//! events alone will not do. The list holds names and texts where they stand in the input, and a few numbers for each
//! element; the input of a hostile peer makes at most [`ELEMENT_MAX`] of them.

use std::borrow::Cow;
use std::fmt;

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::text::{is_character, is_space};

/// The most elements of a document: some 80 bytes each. An event of a hundred thousand numbers fits.
pub const ELEMENT_MAX: usize = 200_000;
/// The most elements in one another: a contract's types nest at most 60 deep, a dictionary takes two, and an envelope six.
pub const DEPTH_MAX: usize = 160;
/// The most attributes of an element, declarations of namespaces included. Peers use about ten.
pub const ATTRIBUTE_MAX: usize = 64;
/// The most namespaces of a document. An envelope has some six, and a contract one for each module.
pub const NAMESPACE_MAX: usize = 256;
/// The most attributes of a document that are no declarations of namespaces. Peers that name the type of each element need one each.
pub const ATTRIBUTES_MAX: usize = ELEMENT_MAX;

/// A document.
#[derive(Debug)]
pub struct Document<'x> {
    /// In the order of their beginnings; the root is the first.
    elements: Vec<Element<'x>>,
    /// By element, in order.
    attributes: Vec<Attribute>,
    /// Namespaces that were met; the first is none.
    namespaces: Vec<String>,
}

/// The place of an element in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementId(u32);

#[derive(Debug)]
struct Element<'x> {
    namespace: u32,
    name: &'x str,
    /// Its own text, without that of its children.
    text: Cow<'x, str>,
    children: u32,
    /// The place behind it and all that it contains.
    next: u32,
}

#[derive(Debug)]
struct Attribute {
    element: u32,
    namespace: u32,
    name: String,
    value: String,
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
        let at = parser.reader.buffer_position();
        parsed.map_err(|message| XmlError { message, at })?;
        Ok(parser.document)
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

struct Parser<'x> {
    input: &'x str,
    reader: NsReader<&'x [u8]>,
    document: Document<'x>,
    /// The elements that are open, outermost first.
    open: Vec<u32>,
}

impl<'x> Parser<'x> {
    fn new(input: &'x str) -> Self {
        let mut reader = NsReader::from_str(input);
        let config = reader.config_mut();
        config.check_comments = true;
        config.check_end_names = true;
        config.expand_empty_elements = false;
        Self {
            input,
            reader,
            document: Document {
                elements: Vec::new(),
                attributes: Vec::new(),
                namespaces: vec![String::new()],
            },
            open: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        loop {
            let from = self.reader.buffer_position();
            let event = self.reader.read_event().map_err(|it| it.to_string())?;
            match event {
                Event::Start(start) => self.start(&start, from, true)?,
                Event::Empty(start) => self.start(&start, from, false)?,
                Event::End(_) => self.end(),
                Event::Text(text) => self.text(text.xml10_content())?,
                Event::CData(text) => self.text(text.xml10_content())?,
                Event::GeneralRef(reference) => {
                    let character = match reference.resolve_char_ref() {
                        Ok(Some(character)) => character,
                        Ok(None) => predefined(&reference)?,
                        Err(error) => return Err(error.to_string()),
                    };
                    self.reference(character)?;
                }
                Event::Comment(_) => {}
                Event::Decl(declaration) => {
                    if let Some(encoding) = declaration.encoding() {
                        let encoding = encoding.map_err(|it| it.to_string())?;
                        if !encoding.eq_ignore_ascii_case("utf-8") {
                            return Err(format!("expected UTF-8, got the encoding \"{encoding}\""));
                        }
                    }
                }
                Event::PI(_) => {
                    return Err(
                        "it has a processing instruction, which SOAP does not allow".to_owned()
                    );
                }
                Event::DocType(_) => {
                    return Err("it has a document type, which SOAP does not allow".to_owned());
                }
                Event::Eof => return self.finish(),
            }
        }
    }

    fn start(&mut self, start: &BytesStart<'_>, from: u64, is_open: bool) -> Result<(), String> {
        if self.open.is_empty() && !self.document.elements.is_empty() {
            return Err("it has a second root element".to_owned());
        }
        if self.document.elements.len() >= ELEMENT_MAX {
            return Err(format!("it has more than {ELEMENT_MAX} elements"));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(format!("its elements nest more than {DEPTH_MAX} deep"));
        }
        let index = self.document.elements.len() as u32;
        let (resolved, local) = self.reader.resolver().resolve_element(start.name());
        let namespace = uri(&resolved)?.to_owned();
        // The name stands in the input behind the bracket, and the local part at its end.
        let name_len = start.name().as_ref().len();
        let at = usize::try_from(from)
            .unwrap_or(usize::MAX)
            .saturating_add(1 + name_len);
        let name = at
            .checked_sub(local.as_ref().len())
            .and_then(|begin| self.input.get(begin..at))
            .filter(|it| *it == local.as_ref() && is_name(it))
            .ok_or("an element has no name of XML")?;
        let namespace = self.namespace(&namespace)?;
        self.attributes(start, index)?;
        self.document.elements.push(Element {
            namespace,
            name,
            text: Cow::Borrowed(""),
            children: 0,
            next: index + 1,
        });
        if let Some(parent) = self.open.last() {
            self.document.elements[*parent as usize].children += 1;
        }
        if is_open {
            self.open.push(index);
        }
        Ok(())
    }

    fn attributes(&mut self, start: &BytesStart<'_>, index: u32) -> Result<(), String> {
        let first = self.document.attributes.len();
        for (count, attribute) in start.attributes().with_checks(false).enumerate() {
            let attribute = attribute.map_err(|it| it.to_string())?;
            if count >= ATTRIBUTE_MAX {
                return Err(format!(
                    "an element has more than {ATTRIBUTE_MAX} attributes"
                ));
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            if self.document.attributes.len() >= ATTRIBUTES_MAX {
                return Err(format!("it has more than {ATTRIBUTES_MAX} attributes"));
            }
            let (resolved, local) = self.reader.resolver().resolve_attribute(attribute.key);
            let (namespace, name) = (uri(&resolved)?.to_owned(), local.as_ref().to_owned());
            let value = unescaped(&attribute.value)?;
            let namespace = self.namespace(&namespace)?;
            let own = &self.document.attributes[first..];
            if own
                .iter()
                .any(|it| it.namespace == namespace && it.name == name)
            {
                return Err(format!("an element has the attribute {name} twice"));
            }
            self.document.attributes.push(Attribute {
                element: index,
                namespace,
                name,
                value,
            });
        }
        Ok(())
    }

    /// The place of a namespace among those that were met.
    fn namespace(&mut self, uri: &str) -> Result<u32, String> {
        let namespaces = &mut self.document.namespaces;
        // The latest first: elements of one namespace follow one another.
        if let Some(index) = namespaces.iter().rposition(|it| it == uri) {
            return Ok(index as u32);
        }
        if namespaces.len() > NAMESPACE_MAX {
            return Err(format!("it has more than {NAMESPACE_MAX} namespaces"));
        }
        namespaces.push(uri.to_owned());
        Ok(namespaces.len() as u32 - 1)
    }

    fn end(&mut self) {
        if let Some(index) = self.open.pop() {
            self.document.elements[index as usize].next = self.document.elements.len() as u32;
        }
    }

    fn text(&mut self, text: Cow<'x, str>) -> Result<(), String> {
        if let Some(wrong) = text.chars().find(|it| !is_character(*it)) {
            return Err(format!(
                "it has the character U+{:04X}, which XML cannot hold",
                u32::from(wrong)
            ));
        }
        let Some(index) = self.open.last() else {
            return match text.chars().all(is_space) {
                true => Ok(()),
                false => Err("it has text outside of its root element".to_owned()),
            };
        };
        let own = &mut self.document.elements[*index as usize].text;
        match own.is_empty() {
            true => *own = text,
            false => own.to_mut().push_str(&text),
        }
        Ok(())
    }

    fn reference(&mut self, character: char) -> Result<(), String> {
        if !is_character(character) {
            return Err(format!(
                "it has the character U+{:04X}, which XML cannot hold",
                u32::from(character)
            ));
        }
        let Some(index) = self.open.last() else {
            return Err("it has text outside of its root element".to_owned());
        };
        self.document.elements[*index as usize]
            .text
            .to_mut()
            .push(character);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        if !self.open.is_empty() {
            return Err("it ends before its root element does".to_owned());
        }
        match self.document.elements.is_empty() {
            true => Err("it has no element".to_owned()),
            false => Ok(()),
        }
    }
}

fn uri<'r>(resolved: &'r ResolveResult<'_>) -> Result<&'r str, String> {
    match resolved {
        ResolveResult::Bound(namespace) => Ok(namespace.0),
        ResolveResult::Unbound => Ok(""),
        ResolveResult::Unknown(prefix) => Err(format!("the prefix {prefix} is not declared")),
    }
}

/// True if a text may be the name of an element. It is looked up among known names, so that only what could be taken for
/// something else is refused.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let begins = characters
        .next()
        .is_some_and(|it| !it.is_ascii_digit() && !matches!(it, '-' | '.'));
    begins
        && !text.contains(|it: char| {
            is_space(it) || matches!(it, ':' | '<' | '>' | '&' | '"' | '\'' | '/' | '=')
        })
}

/// The character that a name stands for. There are five: others come from document types, and there are none.
fn predefined(name: &str) -> Result<char, String> {
    match name {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "apos" => Ok('\''),
        "quot" => Ok('"'),
        other => {
            let shown: String = other.chars().take(SHOWN_LEN_MAX).collect();
            Err(format!(
                "it has the entity \"{shown}\", and expected one of lt, gt, amp, apos, quot"
            ))
        }
    }
}

/// The most characters of a peer's text that an error shows.
const SHOWN_LEN_MAX: usize = 64;

/// The value of an attribute.
fn unescaped(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        let (plain, reference) = rest.split_at(at);
        text.push_str(plain);
        let (name, behind) = reference[1..]
            .split_once(';')
            .ok_or("an attribute has an & without a ;")?;
        text.push(match name.strip_prefix('#') {
            None => predefined(name)?,
            Some(code) => {
                let code = match code.strip_prefix('x') {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => code.parse(),
                };
                let character = code.ok().and_then(char::from_u32);
                character.ok_or("an attribute has a code that is no character")?
            }
        });
        rest = behind;
    }
    text.push_str(rest);
    match text.chars().all(is_character) && !value.contains('<') {
        true => Ok(text),
        false => Err("an attribute has a character that cannot stand there".to_owned()),
    }
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
