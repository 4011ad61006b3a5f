//! Writes an event as an element of XML.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use floe_dynamic::{Enumeration, Layout, Order, Record, Writer};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use super::text::escape_to;
use crate::soap::mapping::{EntryNames, Name, Names};

/// Writes one event: its element, which declares the namespaces of the contract.
#[derive(Debug)]
pub struct SoapWriter<'n> {
    names: &'n Names,
    kind: usize,
    out: String,
    around: Vec<Around<'n>>,
}

#[derive(Debug)]
enum Around<'n> {
    /// The parameters, of which the only one is the event.
    Only,
    Members(&'n [Name]),
    /// A sequence, and whether an item is open.
    Items(&'n Name, bool),
    /// A dictionary, and whether an entry is open.
    Entries(&'n EntryNames, bool),
}

/// A value that XML cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SoapWriteError {
    /// A string with a character that XML cannot hold.
    Character(char),
    /// An instance of a class.
    Class,
    /// A type that is not among the names: it is not of the contract.
    Unnamed(String),
}

impl<'n> SoapWriter<'n> {
    /// A writer of an event of this kind: its place among the kinds of the topic.
    ///
    /// # Panics
    /// If the topic has no such kind.
    pub fn new(names: &'n Names, kind: usize) -> Self {
        assert!(kind < names.kinds().len(), "the kind is one of the topic");
        let mut out = String::with_capacity(ROOM);
        out.push('<');
        out.push_str(names.event().qualified());
        for (index, uri) in names.namespaces().iter().enumerate() {
            let _ = write!(out, " xmlns:ns{}=\"", index + 1);
            escape_to(&mut out, uri).expect("settings were checked");
            out.push('"');
        }
        out.push('>');
        let mut writer = Self {
            names,
            kind,
            out,
            around: Vec::new(),
        };
        if let Some(choice) = &names.kinds()[kind].choice {
            writer.open(choice);
        }
        writer
    }

    /// The element.
    pub fn into_text(mut self) -> String {
        if let Some(choice) = &self.names.kinds()[self.kind].choice {
            self.close(choice);
        }
        self.close(self.names.event());
        self.out
    }

    fn open(&mut self, name: &Name) {
        self.out.push('<');
        self.out.push_str(name.qualified());
        self.out.push('>');
    }

    fn close(&mut self, name: &Name) {
        self.out.push_str("</");
        self.out.push_str(name.qualified());
        self.out.push('>');
    }

    fn shown(&mut self, value: impl fmt::Display) -> Result<(), SoapWriteError> {
        // Nothing can go wrong with a text that grows.
        let _ = write!(self.out, "{value}");
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), SoapWriteError> {
        escape_to(&mut self.out, text).map_err(SoapWriteError::Character)
    }
}

/// Room for the text, in bytes, before it comes: that of most events.
const ROOM: usize = 1024;

impl Writer for SoapWriter<'_> {
    type Error = SoapWriteError;
    const ORDER: Order = Order::Declared;
    const NEEDS_GRAPH: bool = false;

    fn bool(&mut self, value: bool) -> Result<(), SoapWriteError> {
        self.shown(value)
    }

    fn byte(&mut self, value: u8) -> Result<(), SoapWriteError> {
        self.shown(value)
    }

    fn short(&mut self, value: i16) -> Result<(), SoapWriteError> {
        self.shown(value)
    }

    fn int(&mut self, value: i32) -> Result<(), SoapWriteError> {
        self.shown(value)
    }

    fn long(&mut self, value: i64) -> Result<(), SoapWriteError> {
        self.shown(value)
    }

    fn float(&mut self, value: f32) -> Result<(), SoapWriteError> {
        match value.is_finite() {
            // The shortest digits that are this value, with an exponent where it is large or small.
            true => self.shown(format_args!("{value:?}")),
            false => self.double(f64::from(value)),
        }
    }

    fn double(&mut self, value: f64) -> Result<(), SoapWriteError> {
        match value.is_finite() {
            true => self.shown(format_args!("{value:?}")),
            false if value.is_nan() => self.shown("NaN"),
            false if value > 0.0 => self.shown("INF"),
            false => self.shown("-INF"),
        }
    }

    fn string(&mut self, text: &str) -> Result<(), SoapWriteError> {
        self.text(text)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), SoapWriteError> {
        STANDARD.encode_string(bytes, &mut self.out);
        Ok(())
    }

    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), SoapWriteError> {
        self.text(all.name(index))
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), SoapWriteError> {
        match proxy {
            Some(proxy) => self.text(&proxy.to_string()),
            None => Ok(()),
        }
    }

    fn instance(&mut self, _: &Link<dyn AnyClass>) -> Result<(), SoapWriteError> {
        Err(SoapWriteError::Class)
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), SoapWriteError> {
        let names = self.names;
        let members = match self.around.is_empty() {
            true => names.kinds()[self.kind].parameters.as_deref(),
            false => match names.record(record) {
                Some(members) => Some(members),
                None => return Err(SoapWriteError::Unnamed(record.name().to_owned())),
            },
        };
        self.around
            .push(members.map_or(Around::Only, Around::Members));
        Ok(())
    }

    fn begin_member(&mut self, _: &Record, index: usize) -> Result<bool, SoapWriteError> {
        if let Some(Around::Members(names)) = self.around.last() {
            let name = &names[index];
            self.open(name);
        }
        Ok(true)
    }

    fn end_member(&mut self, _: &Record, index: usize) -> Result<(), SoapWriteError> {
        if let Some(Around::Members(names)) = self.around.last() {
            let name = &names[index];
            self.close(name);
        }
        Ok(())
    }

    fn end_record(&mut self, _: &Record) -> Result<(), SoapWriteError> {
        self.around.pop();
        Ok(())
    }

    fn begin_sequence(&mut self, layout: &Layout, _: usize) -> Result<(), SoapWriteError> {
        let name = self.names.item(layout);
        let name = name.ok_or_else(|| SoapWriteError::Unnamed(layout.name().to_owned()))?;
        self.around.push(Around::Items(name, false));
        Ok(())
    }

    fn begin_element(&mut self, _: usize) -> Result<(), SoapWriteError> {
        if let Some(Around::Items(name, is_open)) = self.around.last_mut() {
            let (name, was_open) = (*name, std::mem::replace(is_open, true));
            if was_open {
                self.close(name);
            }
            self.open(name);
        }
        Ok(())
    }

    fn end_sequence(&mut self, _: &Layout) -> Result<(), SoapWriteError> {
        if let Some(Around::Items(name, true)) = self.around.pop() {
            self.close(name);
        }
        Ok(())
    }

    fn begin_dictionary(&mut self, layout: &Layout, _: usize) -> Result<(), SoapWriteError> {
        let names = self.names.entry(layout);
        let names = names.ok_or_else(|| SoapWriteError::Unnamed(layout.name().to_owned()))?;
        self.around.push(Around::Entries(names, false));
        Ok(())
    }

    fn begin_key(&mut self, _: usize) -> Result<(), SoapWriteError> {
        if let Some(Around::Entries(names, is_open)) = self.around.last_mut() {
            let (names, was_open) = (*names, std::mem::replace(is_open, true));
            if was_open {
                self.close(&names.value);
                self.close(&names.entry);
            }
            self.open(&names.entry);
            self.open(&names.key);
        }
        Ok(())
    }

    fn begin_value(&mut self, _: usize) -> Result<(), SoapWriteError> {
        if let Some(Around::Entries(names, _)) = self.around.last() {
            let names = *names;
            self.close(&names.key);
            self.open(&names.value);
        }
        Ok(())
    }

    fn end_dictionary(&mut self, _: &Layout) -> Result<(), SoapWriteError> {
        if let Some(Around::Entries(names, true)) = self.around.pop() {
            self.close(&names.value);
            self.close(&names.entry);
        }
        Ok(())
    }
}

impl fmt::Display for SoapWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(character) => {
                write!(
                    f,
                    "XML cannot hold the character U+{:04X}",
                    u32::from(*character)
                )
            }
            Self::Class => f.write_str("XML has no type for an instance of a class"),
            Self::Unnamed(name) => write!(f, "{name} is not of the contract of the topic"),
        }
    }
}

impl std::error::Error for SoapWriteError {}
