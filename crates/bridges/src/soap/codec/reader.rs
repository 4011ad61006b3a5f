//! Reads an event from an element of XML.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use floe_dynamic::{Enumeration, Layout, Order, Reader, Record};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use super::document::{Cursor, Document, ElementId};
use super::text::is_space;
use crate::soap::mapping::{EntryNames, Name, Names};

/// Reads one event. Members may come in any order; nothing may be there that the contract does not have.
#[derive(Debug)]
pub struct SoapReader<'d, 'x> {
    document: &'d Document<'x>,
    names: &'d Names,
    kind: usize,
    /// The element of the current value.
    at: ElementId,
    around: Vec<Around<'d>>,
}

#[derive(Debug)]
enum Around<'d> {
    /// The parameters, of which the only one is the event.
    Only,
    Members {
        element: ElementId,
        names: &'d [Name],
        /// Where the next member is likely to be.
        next: Cursor,
        found: usize,
    },
    Items {
        name: &'d Name,
        next: Cursor,
    },
    Entries {
        names: &'d EntryNames,
        next: Cursor,
        entry: ElementId,
    },
}

/// An element that is no value of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoapReadError {
    message: String,
}

impl SoapReadError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

type Read<T> = Result<T, SoapReadError>;

impl<'d, 'x> SoapReader<'d, 'x> {
    /// Looks at the element of an event: a reader of it, and its kind.
    ///
    /// # Errors
    /// [`SoapReadError`]: it is not an event of the topic.
    pub fn new(
        document: &'d Document<'x>,
        names: &'d Names,
        event: ElementId,
    ) -> Read<(Self, usize)> {
        if !is(document, event, names, names.event()) {
            return Err(SoapReadError::new(format!(
                "expected the element {}, got {}",
                clark(names.event().namespace(names), names.event().local()),
                shown(document, event)
            )));
        }
        let (kind, at) = match names.kinds() {
            [_] => (0, event),
            kinds => chosen(document, names, kinds, event)?,
        };
        let reader = Self {
            document,
            names,
            kind,
            at,
            around: Vec::new(),
        };
        Ok((reader, kind))
    }

    /// The text of the current value, which has no elements in it.
    fn text(&self) -> Read<&'d str> {
        if self.document.child_count(self.at) > 0 {
            let child = self.document.children(self.at).next();
            let child = child.map_or_else(String::new, |it| shown(self.document, it));
            return Err(SoapReadError::new(format!(
                "expected a text, got the element {child}"
            )));
        }
        if is_nil(self.document, self.at) {
            return Err(SoapReadError::new("expected a value, got nil"));
        }
        Ok(self.document.text(self.at))
    }

    /// The text of a type whose white space at both ends means nothing.
    fn collapsed(&self) -> Read<&'d str> {
        self.text().map(|text| text.trim_matches(is_space))
    }

    fn number<T: FromStr>(&self, expected: &str) -> Read<T> {
        let text = self.collapsed()?;
        text.parse().map_err(|_| wrong(expected, text))
    }

    /// Reads a number with a point, of which Rust has more spellings than XML.
    fn real<T: FromStr + From<f32>>(&self, expected: &str) -> Read<T> {
        let text = self.collapsed()?;
        match text {
            "INF" => return Ok(f32::INFINITY.into()),
            "-INF" => return Ok(f32::NEG_INFINITY.into()),
            "NaN" => return Ok(f32::NAN.into()),
            _ => {}
        }
        let is_plain = text
            .bytes()
            .all(|it| it.is_ascii_digit() || matches!(it, b'+' | b'-' | b'.' | b'e' | b'E'));
        let number = is_plain.then(|| text.parse().ok()).flatten();
        number.ok_or_else(|| wrong(expected, text))
    }

    /// The names of members must be all that is in an element.
    fn no_text(&self, element: ElementId) -> Read<()> {
        let text = self.document.text(element);
        match text.chars().all(is_space) {
            true => Ok(()),
            false => Err(wrong("elements only", text)),
        }
    }

    fn begin_children(&self) -> Read<Cursor> {
        self.no_text(self.at)?;
        if is_nil(self.document, self.at) {
            return Err(SoapReadError::new("expected a value, got nil"));
        }
        Ok(self.document.first(self.at))
    }

    /// The next child, which must have this name.
    fn expect(&self, next: &mut Cursor, name: &Name) -> Read<ElementId> {
        match self.document.take(next) {
            Some(child) if is(self.document, child, self.names, name) => Ok(child),
            Some(child) => Err(SoapReadError::new(format!(
                "expected the element {}, got {}",
                clark(name.namespace(self.names), name.local()),
                shown(self.document, child)
            ))),
            None => Err(SoapReadError::new(format!(
                "expected the element {}",
                name.local()
            ))),
        }
    }

    fn unnamed<T>(&self, name: &str) -> Read<T> {
        Err(SoapReadError::new(format!(
            "{name} is not of the contract of the topic"
        )))
    }
}

/// The kind of an event that is a choice, and the element that carries it.
fn chosen(
    document: &Document<'_>,
    names: &Names,
    kinds: &[crate::soap::mapping::KindNames],
    event: ElementId,
) -> Read<(usize, ElementId)> {
    let mut children = document.children(event);
    let (Some(child), None) = (children.next(), children.next()) else {
        return Err(SoapReadError::new(format!(
            "expected one element within {}, got {}",
            names.event().local(),
            document.child_count(event)
        )));
    };
    let choices = || kinds.iter().filter_map(|it| it.choice.as_ref());
    let kind = choices().position(|it| is(document, child, names, it));
    kind.map(|kind| (kind, child)).ok_or_else(|| {
        let known: Vec<&str> = choices().map(Name::local).collect();
        SoapReadError::new(format!(
            "expected one of {} within {}, got {}",
            known.join(", "),
            names.event().local(),
            shown(document, child)
        ))
    })
}

fn is(document: &Document<'_>, element: ElementId, names: &Names, name: &Name) -> bool {
    document.is(element, name.namespace(names), name.local())
}

fn is_nil(document: &Document<'_>, element: ElementId) -> bool {
    let nil = document.attribute(element, INSTANCE, "nil");
    matches!(nil, Some("true" | "1"))
}

const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

fn shown(document: &Document<'_>, element: ElementId) -> String {
    clark(document.namespace(element), document.name(element))
}

/// A name as `{namespace}name`, cut where a peer made it long.
fn clark(namespace: &str, name: &str) -> String {
    let cut = |text: &str| text.chars().take(SHOWN_LEN_MAX).collect::<String>();
    format!("{{{}}}{}", cut(namespace), cut(name))
}

fn wrong(expected: &str, text: &str) -> SoapReadError {
    let shown: String = text.chars().take(SHOWN_LEN_MAX).collect();
    SoapReadError::new(format!("expected {expected}, got {shown:?}"))
}

/// The most characters of a peer's text that an error shows.
const SHOWN_LEN_MAX: usize = 64;

/// White space may stand anywhere in bytes, and Base64's padding may not be left out.
///
/// Source: XML Schema 1.0, part 2, 3.2.16.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

impl Reader for SoapReader<'_, '_> {
    type Error = SoapReadError;
    const ORDER: Order = Order::Any;

    fn unsupported(&mut self, layout: &Layout) -> SoapReadError {
        SoapReadError::new(format!("{} nests too deep", layout.name()))
    }

    fn bool(&mut self) -> Read<bool> {
        match self.collapsed()? {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(wrong("true or false", other)),
        }
    }

    fn byte(&mut self) -> Read<u8> {
        self.number("a byte (0 to 255)")
    }

    fn short(&mut self) -> Read<i16> {
        self.number("a short (-32768 to 32767)")
    }

    fn int(&mut self) -> Read<i32> {
        self.number("an int (-2147483648 to 2147483647)")
    }

    fn long(&mut self) -> Read<i64> {
        self.number("a long (64 bits)")
    }

    fn float(&mut self) -> Read<f32> {
        self.real("a float")
    }

    fn double(&mut self) -> Read<f64> {
        self.real("a double")
    }

    fn string(&mut self) -> Read<Cow<'_, str>> {
        self.text().map(Cow::Borrowed)
    }

    fn bytes(&mut self, _: &Layout) -> Read<Cow<'_, [u8]>> {
        let text = self.text()?;
        let dense: Vec<u8> = text
            .bytes()
            .filter(|it| !is_space(char::from(*it)))
            .collect();
        let bytes = BASE64.decode(dense);
        bytes
            .map(Cow::Owned)
            .map_err(|_| wrong("bytes in Base64", text))
    }

    fn enumerator(&mut self, layout: &Layout, all: &Enumeration) -> Read<usize> {
        let text = self.text()?;
        all.position_of(text).ok_or_else(|| {
            let names: Vec<&str> = all.names().collect();
            wrong(
                &format!("one of {} for {}", names.join(", "), layout.name()),
                text,
            )
        })
    }

    fn proxy(&mut self, _: &Layout) -> Read<Option<Cow<'_, Reference>>> {
        let text = self.collapsed()?;
        let reference = Reference::parse(text);
        let reference = reference.map_err(|it| SoapReadError::new(it.to_string()))?;
        Ok(reference.map(Cow::Owned))
    }

    fn instance(&mut self, layout: &Layout) -> Read<Link<dyn AnyClass>> {
        Err(SoapReadError::new(format!(
            "{} is a class, and XML has no type for it",
            layout.name()
        )))
    }

    fn begin_record(&mut self, record: &Record) -> Read<()> {
        let known = match self.around.is_empty() {
            true => self.names.kinds()[self.kind].parameters.as_deref(),
            false => match self.names.record(record) {
                Some(names) => Some(names),
                None => return self.unnamed(record.name()),
            },
        };
        let Some(names) = known else {
            self.around.push(Around::Only);
            return Ok(());
        };
        let next = self.begin_children()?;
        self.around.push(Around::Members {
            element: self.at,
            names,
            next,
            found: 0,
        });
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Read<bool> {
        let Some(Around::Members {
            element,
            names,
            next,
            found,
        }) = self.around.last_mut()
        else {
            return Ok(true);
        };
        let document = self.document;
        let (element, name) = (*element, &names[index]);
        let is_it = |it: ElementId| is(document, it, self.names, name);
        let mut ahead = *next;
        let child = match document.take(&mut ahead).filter(|it| is_it(*it)) {
            Some(child) => {
                *next = ahead;
                Some(child)
            }
            // More children than members are an error anyway, and are not searched again and again.
            None if document.child_count(element) > names.len() => None,
            None => document.children(element).find(|it| is_it(*it)),
        };
        let is_optional = record.members()[index].tag().is_some();
        let Some(child) = child else {
            if is_optional && document.child_count(element) <= names.len() {
                return Ok(false);
            }
            let (found, expected) = (document.child_count(element), names.len());
            return Err(SoapReadError::new(match found > expected {
                true => {
                    format!("expected at most {expected} elements beside one another, got {found}")
                }
                false => format!(
                    "expected the element {}, and it is not there",
                    clark(name.namespace(self.names), name.local())
                ),
            }));
        };
        *found += 1;
        self.at = child;
        Ok(!(is_optional && is_nil(document, child)))
    }

    fn end_record(&mut self, _: &Record) -> Read<()> {
        let Some(Around::Members {
            element,
            names,
            found,
            ..
        }) = self.around.pop()
        else {
            return Ok(());
        };
        if found == self.document.child_count(element) {
            return Ok(());
        }
        let is_known = |it: &ElementId| {
            names
                .iter()
                .any(|name| is(self.document, *it, self.names, name))
        };
        let strange = self.document.children(element).find(|it| !is_known(it));
        Err(SoapReadError::new(match strange {
            Some(child) => format!("did not expect the element {}", shown(self.document, child)),
            None => "expected each element once, got one twice".to_owned(),
        }))
    }

    fn begin_sequence(&mut self, layout: &Layout, _: &Layout) -> Read<usize> {
        let Some(name) = self.names.item(layout) else {
            return self.unnamed(layout.name());
        };
        let next = self.begin_children()?;
        self.around.push(Around::Items { name, next });
        Ok(self.document.child_count(self.at))
    }

    fn begin_element(&mut self, _: usize) -> Read<()> {
        if let Some(&Around::Items { name, mut next }) = self.around.last() {
            let child = self.expect(&mut next, name)?;
            if let Some(Around::Items { next: place, .. }) = self.around.last_mut() {
                *place = next;
            }
            self.at = child;
        }
        Ok(())
    }

    fn end_sequence(&mut self) -> Read<()> {
        self.around.pop();
        Ok(())
    }

    fn begin_dictionary(&mut self, layout: &Layout, _: &Layout, _: &Layout) -> Read<usize> {
        let Some(names) = self.names.entry(layout) else {
            return self.unnamed(layout.name());
        };
        let next = self.begin_children()?;
        self.around.push(Around::Entries {
            names,
            next,
            entry: self.at,
        });
        Ok(self.document.child_count(self.at))
    }

    fn begin_key(&mut self, _: usize) -> Read<()> {
        if let Some(&Around::Entries {
            names, mut next, ..
        }) = self.around.last()
        {
            let child = self.expect(&mut next, &names.entry)?;
            self.no_text(child)?;
            if self.document.child_count(child) != 2 {
                return Err(SoapReadError::new(
                    "expected an entry of two elements, key and value",
                ));
            }
            let key =
                self.document
                    .child(child, names.key.namespace(self.names), names.key.local());
            if let Some(Around::Entries {
                next: place, entry, ..
            }) = self.around.last_mut()
            {
                (*place, *entry) = (next, child);
            }
            self.at =
                key.ok_or_else(|| SoapReadError::new("expected the element key in an entry"))?;
        }
        Ok(())
    }

    fn begin_value(&mut self, _: usize) -> Read<()> {
        if let Some(Around::Entries { names, entry, .. }) = self.around.last() {
            let name = &names.value;
            let value = self
                .document
                .child(*entry, name.namespace(self.names), name.local());
            self.at = value
                .ok_or_else(|| SoapReadError::new("expected the element value in an entry"))?;
        }
        Ok(())
    }
}

impl fmt::Display for SoapReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SoapReadError {}
