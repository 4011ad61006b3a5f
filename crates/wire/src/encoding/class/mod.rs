//! Classes: graphs of instances, on the wire and in Rust.
//!
//! A class is a struct that embeds its base. A member, element or parameter of a class type is a [`Link`] to a shared
//! instance of that class or of one that extends it. This module knows no generated type: a struct describes itself by
//! [`Class`], and a decoder looks a type id up in a table of [`Classes`]. `docs/adr/0011-classes-are-shared-links.md`
//! gives the reasons; `docs/adr/0051-instances-of-a-cycle-live-together.md` explains how cycles are built and kept
//! alive.
//!
//! ```text
//! 1.0:  i32 -id ...            then, after all parameters: { size n, n x (i32 id, slices) } 00
//! 1.1:  00 nil | 01 slices | size id
//! ```
//!
//! Source: Ice manual, "Data Encoding for Classes". Vectors: `tests/vectors/classes.json`,
//! `tests/vectors/slicing.json`.

mod bodies;
mod class_reader;
mod compare;
mod expected;
mod graph;
mod graph_reader;
mod graph_writer;
mod instance;
mod link;
mod links;
mod promise;
mod received;
mod references;
mod table;
mod unknown;

use std::any::Any;
use std::fmt;

pub use class_reader::ClassReader;
pub use graph::{Draft, Graph};
pub(super) use graph_reader::{GraphReader, TableEntry};
pub(super) use graph_writer::GraphWriter;
pub use link::{InstanceId, Link, Ref};
pub use table::{ClassFactory, ClassInfo, ClassTable, Classes, ClassesOf};
pub use unknown::{SliceId, UnknownClass, UnknownSlice};

use super::{DecodeError, Encoder};

/// The greatest depth of a decoded graph, in the order in which the decoder meets its instances, and the greatest
/// number of instances that are encoded inside one another. All instances of a cycle have the same depth.
///
/// It bounds the stack for reading, comparing, printing and dropping a graph. Ice 3.8 stops at 10 unless it is
/// configured; Ice 3.7.8 stops at 100, too (observed).
pub const GRAPH_DEPTH_MAX: usize = 100;

/// The most bytes of stack that nested instances take while they are read.
///
/// The stack for one instance depends on its class and on the build: some hundred bytes, or over a hundred kilobytes
/// for a class of many members in a build without optimization. A thread of tokio has 2 MiB, and an overflow would
/// abort the process. So a graph below [`GRAPH_DEPTH_MAX`] may be refused as well.
pub const GRAPH_STACK_MAX: usize = 1280 * 1024;

/// The longest type id of a class, in bytes, that a peer may send.
///
/// A peer repeats a type id by its index, for two bytes. But a program that writes a kept slice again, or shows it as
/// JSON, handles the whole id each time.
pub const TYPE_ID_LEN_MAX: usize = 1024;

/// The most memory that reading class instances allocates for each byte that is read, besides the structs of the
/// classes themselves.
///
/// A reference in a sequence costs the most: a link, and the reader's record of it.
pub const CLASS_MEMORY_PER_BYTE: usize = 256;

/// The type id of the root class, which has a slice of its own in encoding 1.0.
const OBJECT_TYPE_ID: &str = "::Ice::Object";

/// The formats of instances in encoding 1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassFormat {
    /// Without sizes: a receiver that does not know the class cannot read it.
    #[default]
    Compact,
    /// With the size and type id of each slice: a receiver skips unknown classes, and sends their slices again.
    Sliced,
}

/// A class declared in Slice, as a struct with a field `base` and those of its own members.
///
/// Generated code implements it, and [`Extends`] for each base:
///
/// ```
/// // class Shape { string name; Shape inner; optional(3) int color; }
/// // class Circle extends Shape { double radius; }
/// use floe_wire::encoding::{
///     AnyClass, Class, ClassInfo, ClassReader, ClassTable, Classes, Extends, Link,
/// };
/// use floe_wire::{DecodeError, Encoder};
///
/// static CLASSES: ClassTable = ClassTable::new(
///     &[ClassInfo::of::<Shape>(), ClassInfo::of::<Circle>()],
///     &[],
/// );
///
/// #[derive(Debug, Clone, PartialEq, Default)]
/// pub struct Shape {
///     pub name: String,
///     pub inner: Link<Shape>,
///     pub color: Option<i32>,
/// }
///
/// impl Class for Shape {
///     const TYPE_ID: &'static str = "::Demo::Shape";
///
///     fn classes() -> &'static dyn Classes {
///         &CLASSES
///     }
///
///     fn encode_members(&self, encoder: &mut Encoder<'_>) {
///         encoder.put(&self.name);
///         encoder.put(&self.inner);
///         encoder.tagged(3, self.color.as_ref());
///     }
///
///     fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
///         let (name, inner, color) = reader.slice("::Demo::Shape", |decoder| {
///             Ok((decoder.get()?, decoder.get()?, decoder.tagged(3)?))
///         })?;
///         Ok(Self { name, inner, color })
///     }
/// }
///
/// #[derive(Debug, Clone, PartialEq, Default)]
/// pub struct Circle {
///     pub base: Shape,
///     pub radius: f64,
/// }
///
/// impl std::ops::Deref for Circle {
///     type Target = Shape;
///
///     fn deref(&self) -> &Shape {
///         &self.base
///     }
/// }
///
/// impl Extends<Shape> for Circle {}
///
/// impl Class for Circle {
///     const TYPE_ID: &'static str = "::Demo::Circle";
///
///     fn classes() -> &'static dyn Classes {
///         &CLASSES
///     }
///
///     fn base(&self) -> Option<&dyn AnyClass> {
///         Some(&self.base)
///     }
///
///     fn encode_members(&self, encoder: &mut Encoder<'_>) {
///         encoder.put(&self.radius);
///     }
///
///     fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
///         let radius = reader.slice("::Demo::Circle", |decoder| decoder.get())?;
///         let base = Shape::decode_slices(reader)?;
///         Ok(Self { base, radius })
///     }
/// }
///
/// let shape = Shape {
///     name: "outer".to_owned(),
///     inner: Link::new(Circle { radius: 0.5, ..Circle::default() }),
///     color: None,
/// };
/// let inner = shape.inner.get().expect("it has one");
/// assert_eq!(inner.name, "");
/// assert_eq!(inner.cast::<Circle>().map(|circle| circle.radius), Some(0.5));
/// ```
pub trait Class: Any + fmt::Debug + PartialEq + Send + Sync {
    /// Its type id: `::Module::Name`.
    const TYPE_ID: &'static str;

    /// The number that stands for the type id in encoding 1.1.
    const COMPACT_ID: Option<i32> = None;

    /// True if slices of unknown derived classes are kept, to be sent again. Ice 3.8 always keeps them, Ice 3.7 if the
    /// contract says `["preserve-slice"]`.
    const KEEPS_UNKNOWN_SLICES: bool = true;

    /// The classes of the contract that declares it.
    fn classes() -> &'static dyn Classes;

    /// The part of the instance that its base declares; `None` if the class has no base.
    fn base(&self) -> Option<&dyn AnyClass> {
        None
    }

    /// Writes the members that this class itself declares.
    fn encode_members(&self, encoder: &mut Encoder<'_>);

    /// Reads the slice of this class, at the reader's position, and then those of its bases.
    ///
    /// # Errors
    /// [`DecodeError`] if a slice is malformed.
    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError>
    where
        Self: Sized;
}

/// An instance of any class: `Object` and `Value` in Slice.
///
/// Every [`Class`] is one. Implement it directly only for classes that are not known when the
/// program is compiled.
pub trait AnyClass: Any + fmt::Debug + Send + Sync {
    /// Type id of the class.
    fn class_type_id(&self) -> &str;

    /// The number that stands for the type id in encoding 1.1.
    fn compact_id(&self) -> Option<i32>;

    /// The part of the instance that the base of the class declares.
    fn base(&self) -> Option<&dyn AnyClass>;

    /// Writes the members that the class declares itself.
    fn encode_members(&self, encoder: &mut Encoder<'_>);

    /// Returns true if both are instances of the same class with equal members.
    ///
    /// Links in the members count as equal here, and are compared later.
    fn equals(&self, other: &dyn AnyClass) -> bool;
}

impl<T: Class> AnyClass for T {
    fn class_type_id(&self) -> &str {
        T::TYPE_ID
    }

    fn compact_id(&self) -> Option<i32> {
        T::COMPACT_ID
    }

    fn base(&self) -> Option<&dyn AnyClass> {
        Class::base(self)
    }

    fn encode_members(&self, encoder: &mut Encoder<'_>) {
        Class::encode_members(self, encoder);
    }

    fn equals(&self, other: &dyn AnyClass) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// The type parameter of a [`Link`]: a [`Class`], or `dyn AnyClass` for an instance of any class.
pub trait ClassType: 'static {
    /// The name in error messages.
    const NAME: &'static str;

    /// The part of an instance that this class declares, if it is an instance of this class.
    fn cast(instance: &dyn AnyClass) -> Option<&Self>;

    /// The classes of the contract that declares it.
    fn known_classes() -> Option<&'static dyn Classes>;
}

impl<T: Class> ClassType for T {
    const NAME: &'static str = T::TYPE_ID;

    fn cast(instance: &dyn AnyClass) -> Option<&Self> {
        let mut level = instance;
        loop {
            if let Some(found) = (level as &dyn Any).downcast_ref() {
                return Some(found);
            }
            level = level.base()?;
        }
    }

    fn known_classes() -> Option<&'static dyn Classes> {
        Some(T::classes())
    }
}

impl ClassType for dyn AnyClass {
    const NAME: &'static str = "class instance";

    fn cast(instance: &dyn AnyClass) -> Option<&Self> {
        Some(instance)
    }

    fn known_classes() -> Option<&'static dyn Classes> {
        None
    }
}

/// States that the class is `T`, or extends it.
pub trait Extends<T: ClassType + ?Sized>: Class {}

impl<T: Class> Extends<T> for T {}
impl<T: Class> Extends<dyn AnyClass> for T {}

/// The name of a class on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassId<'a> {
    /// By type id.
    Name(&'a str),
    /// By compact id.
    Compact(i32),
}
