//! Layouts of types: what a walk needs to know of a type, compiled once from a contract. No format is among it but for the
//! few facts of Ice's encoding that depend on nothing else.

mod layouts;

use std::fmt;
use std::sync::Arc;

use floe_slice::model::{DefinitionId, Primitive};
use floe_wire::encoding::{EnumWidth, TagFormat};

pub(crate) use self::layouts::{Layouts, tag};
use crate::Value;
use crate::wording::join;

/// How many types may stand in one another: `sequence<sequence<int>>` has depth 2.
///
/// It bounds recursion over values. JSON text of a value nests at most twice as deep, which stays
/// below the 128 levels that the JSON parser accepts.
pub const MAX_DEPTH: usize = 60;

/// A type that this release cannot handle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// A type that nests deeper than [`MAX_DEPTH`].
    TooDeep(String),
    /// A definition that is no data type: an exception or a constant.
    NoDataType(String),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep(name) => {
                write!(f, "{name} nests more than {MAX_DEPTH} types in one another")
            }
            Self::NoDataType(name) => {
                write!(
                    f,
                    "{name} is no data type: expected a built-in type, struct, class, enum, sequence, dictionary or proxy"
                )
            }
        }
    }
}

impl std::error::Error for Unsupported {}

/// A type as a walk sees it. Layouts of types that a type consists of are shared.
#[derive(Debug)]
pub struct Layout {
    name: String,
    shape: Shape,
    pub(crate) min_wire_len: usize,
    /// How many types stand in one another.
    depth: usize,
    has_classes: bool,
    /// The number of bytes of a value in Ice's encoding, if it is the same for all.
    pub(crate) fixed_len: Option<usize>,
    pub(crate) tag: TagShape,
}

/// The kind of a type, with the layouts of the types that it consists of.
#[derive(Debug)]
#[non_exhaustive]
pub enum Shape {
    /// `bool`, a number or `string`.
    Primitive(Primitive),
    /// An enumeration.
    Enum(Enumeration),
    /// A struct.
    Struct(Record),
    /// `sequence<byte>`, which is read and written in one piece.
    Bytes,
    /// Any other sequence, of elements of this layout.
    Sequence(Arc<Layout>),
    /// A dictionary.
    Dictionary {
        /// Of its keys.
        key: Arc<Layout>,
        /// Of its values.
        value: Arc<Layout>,
    },
    /// A proxy of any type.
    Proxy,
    /// An instance of a class, or nil. Its members are not in the layout: a class may have itself as a member.
    Class {
        /// The type id of the class, if instances of others that do not extend it are refused.
        type_id: Option<Arc<str>>,
        /// The class or, by value, the interface.
        definition: Option<DefinitionId>,
    },
    /// A type without values that can be read: a member of a class nests too deep.
    Unsupported,
}

/// How a tagged value of a type is written in Ice's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TagShape {
    pub(crate) format: TagFormat,
    /// True if the length stands in front of the value, which does not start with it.
    pub(crate) has_len_in_front: bool,
}

/// The enumerators of a type.
#[derive(Debug)]
pub struct Enumeration {
    enumerators: Vec<(String, i32)>,
    /// Positions among the enumerators, by value; empty where the values are 0, 1, 2 and so on.
    by_value: Vec<(i32, usize)>,
    pub(crate) width: EnumWidth,
}

impl Enumeration {
    fn new(declared: &floe_slice::model::Enum) -> Self {
        let pairs = declared.enumerators.iter();
        let enumerators: Vec<(String, i32)> =
            pairs.map(|one| (one.name.clone(), one.value)).collect();
        let places = enumerators.iter().enumerate();
        let mut by_value: Vec<(i32, usize)> =
            places.map(|(index, (_, value))| (*value, index)).collect();
        by_value.sort_unstable();
        if enumerators.iter().map(|(_, value)| *value).eq(0..) {
            by_value.clear();
        }
        Self {
            width: EnumWidth::for_max(declared.max_value()),
            enumerators,
            by_value,
        }
    }

    /// The name of an enumerator by its position.
    pub fn name(&self, index: usize) -> &str {
        self.enumerators.get(index).map_or("", |(name, _)| name)
    }

    /// The value of an enumerator by its position.
    pub fn value(&self, index: usize) -> i32 {
        self.enumerators.get(index).map_or(0, |(_, value)| *value)
    }

    /// The position of the enumerator with this value.
    pub fn position(&self, value: i32) -> Option<usize> {
        if self.by_value.is_empty() {
            let index = usize::try_from(value).ok()?;
            return (index < self.enumerators.len()).then_some(index);
        }
        let found = self.by_value.binary_search_by_key(&value, |(one, _)| *one);
        Some(self.by_value[found.ok()?].1)
    }

    /// The position of the enumerator with this name.
    pub fn position_of(&self, name: &str) -> Option<usize> {
        self.enumerators.iter().position(|(one, _)| one == name)
    }

    /// The names, in order of declaration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.enumerators.iter().map(|(name, _)| name.as_str())
    }
}

/// Members with names: of a struct, of one slice of a class or exception, or the parameters or results of an operation.
#[derive(Debug)]
pub struct Record {
    name: String,
    /// The name of one member in messages: a member, parameter or result.
    pub(crate) noun: &'static str,
    members: Vec<Member>,
    /// Positions in the order of Ice's encoding: the return value behind the parameters, tagged members last, by tag.
    wire_order: Vec<usize>,
    is_in_wire_order: bool,
    has_classes: bool,
    pub(crate) has_untagged_classes: bool,
}

/// One member of a [`Record`].
#[derive(Debug, Clone)]
pub struct Member {
    name: String,
    layout: Arc<Layout>,
    tag: Option<u32>,
    /// The declared default.
    pub(crate) default: Option<Value>,
}

impl Member {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layout of its type.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Its tag, if it is optional.
    pub fn tag(&self) -> Option<u32> {
        self.tag
    }
}

impl Record {
    /// A record of members in order of declaration. `last_on_wire` is the position of a return value.
    pub(crate) fn new(
        name: &str,
        noun: &'static str,
        members: Vec<Member>,
        last_on_wire: Option<usize>,
    ) -> Self {
        let mut wire_order: Vec<usize> = (0..members.len()).collect();
        wire_order.sort_by_key(|index| (members[*index].tag, Some(*index) == last_on_wire));
        let has_classes = |member: &&Member| member.layout.has_classes;
        // Tagged values are not written in encoding 1.0, so that class instances in them do not make a table of instances
        // follow either. Source: observed, Ice 3.7.8 for Python, parameters and exceptions.
        let mut untagged = members.iter().filter(|member| member.tag.is_none());
        Self {
            name: name.to_owned(),
            noun,
            is_in_wire_order: wire_order.is_sorted(),
            wire_order,
            has_untagged_classes: untagged.any(|member| member.layout.has_classes),
            has_classes: members.iter().any(|member| has_classes(&member)),
            members,
        }
    }

    /// The type id of its owner, or the name of the operation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The members in order of declaration; a return value is the first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns true if there are class instances in it.
    pub fn has_classes(&self) -> bool {
        self.has_classes
    }

    /// Returns true if Ice writes the members in the order of declaration.
    pub(crate) fn is_in_wire_order(&self) -> bool {
        self.is_in_wire_order
    }

    pub(crate) fn wire_order(&self) -> &[usize] {
        &self.wire_order
    }

    /// The names of the members, for a message.
    pub(crate) fn list(&self) -> String {
        let names: Vec<&str> = self.members.iter().map(Member::name).collect();
        join(&names)
    }

    /// Asks a format about the type of each member: see [`Layout::check`].
    ///
    /// # Errors
    /// [`TypeRefused`] for the first type that the format refuses, with its path.
    pub fn check(&self, accept: impl Fn(&Layout) -> Result<(), String>) -> Result<(), TypeRefused> {
        self.check_members(&accept)
            .map_err(|refused| refused.below(&self.name))
    }

    fn check_members(
        &self,
        accept: &impl Fn(&Layout) -> Result<(), String>,
    ) -> Result<(), TypeRefused> {
        self.members.iter().try_for_each(|member| {
            let checked = member.layout.check_within(accept);
            checked.map_err(|refused| refused.below(&format!(".{}", member.name)))
        })
    }
}

/// A type that a format has no values of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeRefused {
    /// Where in the type: `::M::Order.items[].tree`.
    pub path: String,
    /// Why, in the words of the format.
    pub reason: String,
}

impl TypeRefused {
    fn below(mut self, front: &str) -> Self {
        self.path.insert_str(0, front);
        self
    }
}

impl fmt::Display for TypeRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for TypeRefused {}

impl Layout {
    /// The type as written in Slice, a definition by its full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its kind.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns true if there are class instances in it.
    pub fn has_classes(&self) -> bool {
        self.has_classes
    }

    /// Asks a format about this type and all that it consists of, before the first value comes: `accept` answers why a type
    /// has no values in the format. The members of classes are not asked for.
    ///
    /// # Errors
    /// [`TypeRefused`] for the first type that the format refuses, with its path.
    pub fn check(&self, accept: impl Fn(&Self) -> Result<(), String>) -> Result<(), TypeRefused> {
        self.check_within(&accept)
            .map_err(|refused| refused.below(&self.name))
    }

    fn check_within(
        &self,
        accept: &impl Fn(&Self) -> Result<(), String>,
    ) -> Result<(), TypeRefused> {
        accept(self).map_err(|reason| TypeRefused {
            path: String::new(),
            reason,
        })?;
        match &self.shape {
            Shape::Struct(record) => record.check_members(accept),
            Shape::Sequence(element) => {
                let checked = element.check_within(accept);
                checked.map_err(|refused| refused.below("[]"))
            }
            Shape::Dictionary { key, value } => {
                let checked = key.check_within(accept);
                checked.map_err(|refused| refused.below("{key}"))?;
                let checked = value.check_within(accept);
                checked.map_err(|refused| refused.below("[]"))
            }
            _ => Ok(()),
        }
    }

    fn leaf(name: &str, shape: Shape, min_wire_len: usize, format: TagFormat) -> Self {
        Self {
            name: name.to_owned(),
            has_classes: matches!(shape, Shape::Class { .. }),
            shape,
            min_wire_len,
            depth: 0,
            fixed_len: None,
            tag: TagShape {
                format,
                has_len_in_front: false,
            },
        }
    }

    fn primitive(primitive: Primitive) -> Self {
        let (len, format) = match primitive {
            Primitive::Bool | Primitive::Byte => (1, TagFormat::F1),
            Primitive::Short => (2, TagFormat::F2),
            Primitive::Int | Primitive::Float => (4, TagFormat::F4),
            Primitive::Long | Primitive::Double => (8, TagFormat::F8),
            Primitive::String => (1, TagFormat::VSize),
        };
        let fixed_len = (primitive != Primitive::String).then_some(len);
        let leaf = Self::leaf(
            primitive.keyword(),
            Shape::Primitive(primitive),
            len,
            format,
        );
        Self { fixed_len, ..leaf }
    }

    fn class(name: &str, type_id: Option<Arc<str>>, definition: Option<DefinitionId>) -> Self {
        let shape = Shape::Class {
            type_id,
            definition,
        };
        Self::leaf(name, shape, 1, TagFormat::Class)
    }

    fn structure(name: &str, record: Record) -> Self {
        let mut sum = Self::leaf(name, Shape::Bytes, 0, TagFormat::FSize);
        sum.depth = 1;
        sum.fixed_len = Some(0);
        for member in record.members() {
            let layout = &member.layout;
            sum.min_wire_len = sum.min_wire_len.saturating_add(layout.min_wire_len);
            sum.depth = sum.depth.max(layout.depth + 1);
            sum.fixed_len = add(sum.fixed_len, layout.fixed_len);
        }
        sum.has_classes = record.has_classes;
        sum.shape = Shape::Struct(record);
        let format = TagFormat::of_parts(sum.fixed_len);
        sum.tag = TagShape {
            format,
            has_len_in_front: format == TagFormat::VSize,
        };
        sum
    }

    /// A sequence or dictionary: at least the byte of the size.
    fn counted(name: &str, shape: Shape, parts: &[&Self]) -> Self {
        let part_len = parts
            .iter()
            .map(|part| part.fixed_len)
            .reduce(add)
            .flatten();
        let format = TagFormat::of_parts(part_len);
        let depths = parts.iter().map(|part| part.depth);
        let has_own_len = parts.len() == 1 && part_len == Some(1);
        Self {
            name: name.to_owned(),
            depth: depths.max().unwrap_or(0) + 1,
            min_wire_len: 1,
            has_classes: parts.iter().any(|part| part.has_classes),
            shape,
            fixed_len: None,
            tag: TagShape {
                format,
                has_len_in_front: format == TagFormat::VSize && !has_own_len,
            },
        }
    }
}

fn add(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one?.checked_add(other?)
}
