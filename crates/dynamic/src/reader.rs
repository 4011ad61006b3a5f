//! The trait of formats that values are read from.

use std::borrow::Cow;

use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use crate::{Enumeration, Layout, Record};

/// The order in which a format has the members of a [`Record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any will do: members are found by their names or positions.
    Any,
    /// As declared; a return value in front of the out-parameters.
    Declared,
    /// As Ice has them: a return value behind the out-parameters, optional members last, by their tags.
    Wire,
}

/// A format that values are read from, along the layout of their type.
///
/// A [walk](crate::walk()) calls the methods; the format answers from its current position. It may give any answer of the
/// type: what a peer sent wrong is an error, never a panic. A walk asks for members in the order that [`Reader::ORDER`]
/// names.
///
/// The methods that only mark a place (`begin_*`, `end_*`) do nothing by default.
pub trait Reader {
    /// Why the format cannot give a value. The walk adds the path.
    type Error;

    /// The order of members.
    const ORDER: Order;

    /// The error for a value of a type without any: it nests too deep, and was met as a member of a class.
    fn unsupported(&mut self, layout: &Layout) -> Self::Error;

    /// Reads a `bool`.
    ///
    /// # Errors
    /// There is no such value, as with all methods.
    fn bool(&mut self) -> Result<bool, Self::Error>;

    /// Reads a `byte`.
    fn byte(&mut self) -> Result<u8, Self::Error>;

    /// Reads a `short`.
    fn short(&mut self) -> Result<i16, Self::Error>;

    /// Reads an `int`.
    fn int(&mut self) -> Result<i32, Self::Error>;

    /// Reads a `long`.
    fn long(&mut self) -> Result<i64, Self::Error>;

    /// Reads a `float`.
    fn float(&mut self) -> Result<f32, Self::Error>;

    /// Reads a `double`.
    fn double(&mut self) -> Result<f64, Self::Error>;

    /// Reads a `string`; where the format has it as it is, without a copy.
    fn string(&mut self) -> Result<Cow<'_, str>, Self::Error>;

    /// Reads a `sequence<byte>`.
    fn bytes(&mut self, layout: &Layout) -> Result<Cow<'_, [u8]>, Self::Error>;

    /// Reads an enumerator: its position in the enumeration.
    fn enumerator(&mut self, layout: &Layout, all: &Enumeration) -> Result<usize, Self::Error>;

    /// Reads a proxy; `None` is nil.
    fn proxy(&mut self, layout: &Layout) -> Result<Option<Cow<'_, Reference>>, Self::Error>;

    /// Reads a link to a class instance. The instance itself may come later, until [`Reader::end`].
    fn instance(&mut self, layout: &Layout) -> Result<Link<dyn AnyClass>, Self::Error>;

    /// Begins a struct, or the parameters or results of an operation.
    fn begin_record(&mut self, _record: &Record) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Goes to a member. Answers false if it is optional and has no value; nothing of it is read then.
    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, Self::Error>;

    /// Ends a member that has a value.
    fn end_member(&mut self, _record: &Record, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends a record.
    fn end_record(&mut self, _record: &Record) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a sequence: how many elements follow. A format that says so only at the end must look ahead; it must not
    /// announce more elements than its input can have.
    fn begin_sequence(&mut self, layout: &Layout, element: &Layout) -> Result<usize, Self::Error>;

    /// Goes to an element of a sequence.
    fn begin_element(&mut self, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends a sequence or dictionary.
    fn end_sequence(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a dictionary: how many entries follow, as [`Reader::begin_sequence`].
    fn begin_dictionary(
        &mut self,
        layout: &Layout,
        key: &Layout,
        value: &Layout,
    ) -> Result<usize, Self::Error>;

    /// Goes to the key of an entry.
    fn begin_key(&mut self, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Goes to the value of the entry whose key was read.
    fn begin_value(&mut self, _index: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends the whole: a value that stands alone, or all parameters. The instances of all links have come then.
    /// `has_classes` is true if class instances were among what is not optional.
    fn end(&mut self, _has_classes: bool) -> Result<(), Self::Error> {
        Ok(())
    }
}
