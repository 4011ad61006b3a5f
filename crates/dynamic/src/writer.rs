//! The trait of formats that values are written to.

use std::borrow::Cow;

use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use crate::{Enumeration, Layout, Order, Record};

/// A format that values are written to, along the layout of their type.
///
/// A [walk](crate::walk()) calls the methods in the order of the values. After an error it calls nothing more, and what has
/// been written has no meaning.
///
/// The methods that only mark a place (`begin_*`, `end_*`) do nothing by default.
pub trait Writer {
    /// Why the format cannot say a value. The walk adds the path.
    type Error;

    /// The order in which members must come.
    const ORDER: Order;

    /// True if class instances must be there when a link to them is written: most formats write an instance where the first
    /// link to it stands. A walk reads the whole graph first then.
    const NEEDS_GRAPH: bool = true;

    /// True if a dictionary of the format has no key twice. If a peer sent one twice, the last counts.
    const HAS_KEYS_ONCE: bool = false;

    /// Writes a `bool`.
    ///
    /// # Errors
    /// The format cannot say the value, as with all methods.
    fn bool(&mut self, value: bool) -> Result<(), Self::Error>;

    /// Writes a `byte`.
    fn byte(&mut self, value: u8) -> Result<(), Self::Error>;

    /// Writes a `short`.
    fn short(&mut self, value: i16) -> Result<(), Self::Error>;

    /// Writes an `int`.
    fn int(&mut self, value: i32) -> Result<(), Self::Error>;

    /// Writes a `long`.
    fn long(&mut self, value: i64) -> Result<(), Self::Error>;

    /// Writes a `float`.
    fn float(&mut self, value: f32) -> Result<(), Self::Error>;

    /// Writes a `double`.
    fn double(&mut self, value: f64) -> Result<(), Self::Error>;

    /// Writes a `string`.
    fn string(&mut self, text: &str) -> Result<(), Self::Error>;

    /// Writes a `sequence<byte>`.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Writes an enumerator by its position in the enumeration.
    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), Self::Error>;

    /// Writes a proxy; `None` is nil.
    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), Self::Error>;

    /// Tells of all links to class instances that will be written, in their order, before the first of them is.
    fn begin_graph(&mut self, _links: &[Link<dyn AnyClass>]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes a link to a class instance.
    fn instance(&mut self, link: &Link<dyn AnyClass>) -> Result<(), Self::Error>;

    /// Begins a struct, or the parameters or results of an operation.
    fn begin_record(&mut self, _record: &Record) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a member that has a value. Answers false to leave the member out: its value is skipped then.
    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, Self::Error>;

    /// Ends a member that was not left out.
    fn end_member(&mut self, _record: &Record, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes that an optional member has no value.
    fn unset_member(&mut self, _record: &Record, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends a record.
    fn end_record(&mut self, _record: &Record) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a sequence of so many elements.
    fn begin_sequence(&mut self, layout: &Layout, count: usize) -> Result<(), Self::Error>;

    /// Begins an element of a sequence.
    fn begin_element(&mut self, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends a sequence.
    fn end_sequence(&mut self, _layout: &Layout) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a dictionary of so many entries.
    fn begin_dictionary(&mut self, layout: &Layout, count: usize) -> Result<(), Self::Error>;

    /// Begins the key of an entry.
    fn begin_key(&mut self, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins the value of the entry whose key was written.
    fn begin_value(&mut self, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends a dictionary.
    fn end_dictionary(&mut self, _layout: &Layout) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends the whole: a value that stands alone, or all parameters. `has_classes` is true if class instances were among
    /// what is not optional.
    fn end(&mut self, _has_classes: bool) -> Result<(), Self::Error> {
        Ok(())
    }
}
