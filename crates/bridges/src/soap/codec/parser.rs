//! Makes a [`Document`] of the events of quick-xml, and checks what those leave open.

use std::borrow::Cow;

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::document::{Attribute, Document, Element};
use super::text::{is_character, is_space};

/// The most elements of a document: some 80 bytes each. An event of a hundred thousand numbers fits.
pub(super) const ELEMENT_MAX: usize = 200_000;
/// The most elements in one another: a contract's types nest at most 60 deep, a dictionary takes two, and an envelope six.
pub(super) const DEPTH_MAX: usize = 160;
/// The most attributes of an element, declarations of namespaces included. Peers use about ten.
pub(super) const ATTRIBUTE_MAX: usize = 64;
/// The most namespaces of a document. An envelope has some six, and a contract one for each module.
pub(super) const NAMESPACE_MAX: usize = 256;
/// The most attributes of a document that are no declarations of namespaces. Peers that name the type of each element need one each.
pub(super) const ATTRIBUTES_MAX: usize = ELEMENT_MAX;

/// Reads a document from beginning to end.
pub(super) struct Parser<'x> {
    input: &'x str,
    reader: NsReader<&'x [u8]>,
    document: Document<'x>,
    /// The elements that are open, outermost first.
    open: Vec<u32>,
}

impl<'x> Parser<'x> {
    pub(super) fn new(input: &'x str) -> Self {
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

    /// The byte that was reached.
    pub(super) fn position(&self) -> u64 {
        self.reader.buffer_position()
    }

    /// The document, whole after [`Parser::run`].
    pub(super) fn into_document(self) -> Document<'x> {
        self.document
    }

    /// Reads everything.
    ///
    /// # Errors
    /// Why it is no document, or is refused.
    pub(super) fn run(&mut self) -> Result<(), String> {
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
