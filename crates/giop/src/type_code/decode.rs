//! Reads TypeCodes.

use std::collections::HashMap;
use std::sync::Arc;

use super::graph::{Node, NodeId, unfold};
use super::{
    EnumType, FIXED_DIGITS_MAX, NamedKind, TYPE_CODE_DEPTH_MAX, TYPE_CODE_WEIGHT_MAX, TypeCode,
    TypeName,
};
use crate::cdr::{DecodeError, DecodeErrorKind, Decoder};

/// The kind that means an indirection.
const INDIRECTION: u32 = 0xffff_ffff;

/// The longest repository id or name: none in use has a tenth of it.
const NAME_LEN_MAX: usize = 4096;

impl TypeCode {
    /// Reads a TypeCode.
    ///
    /// # Errors
    /// [`DecodeError`]: the bytes are none, or it is above a limit of this module.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Arc<Self>, DecodeError> {
        Self::decode_within(decoder, &mut { TYPE_CODE_WEIGHT_MAX })
    }

    /// Reads one of several TypeCodes, and takes its weight off what they may weigh together.
    pub(crate) fn decode_within(
        decoder: &mut Decoder<'_>,
        weight_left: &mut usize,
    ) -> Result<Arc<Self>, DecodeError> {
        let here = decoder.clone();
        let mut reading = TypeCodeReader {
            nodes: Vec::new(),
            places: HashMap::new(),
            weight: 0,
        };
        let root = reading.type_code(decoder, 0)?;
        unfold(&reading.nodes, root, weight_left).map_err(|kind| here.error("TypeCode", kind))
    }
}

struct TypeCodeReader {
    nodes: Vec<Node>,
    /// The offset at which each one began, in the outermost bytes.
    places: HashMap<usize, NodeId>,
    /// Bytes of memory so far, roughly, which each are paid for by bytes on the wire.
    weight: usize,
}

impl TypeCodeReader {
    fn type_code(
        &mut self,
        decoder: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<NodeId, DecodeError> {
        decoder.align(4, "TypeCode")?;
        let here = decoder.clone();
        let error = |kind| Err(here.error("TypeCode", kind));
        if depth >= TYPE_CODE_DEPTH_MAX {
            return error(DecodeErrorKind::TooDeep(TYPE_CODE_DEPTH_MAX));
        }
        let kind = decoder.ulong("kind of a TypeCode")?;
        if kind == INDIRECTION {
            return self.indirection(decoder);
        }
        let id = self.nodes.len();
        self.nodes.push(Node::Open);
        self.places.insert(here.outer_offset(), id);
        self.weight += super::TYPE_CODE_NODE_WEIGHT;
        if self.weight > TYPE_CODE_WEIGHT_MAX {
            let max = TYPE_CODE_WEIGHT_MAX as u64;
            return error(DecodeErrorKind::TooLong { len: max + 1, max });
        }
        let node = match simple(kind) {
            Some(code) => Node::Plain(code),
            None => self.with_parameters(kind, decoder, depth, &here)?,
        };
        self.nodes[id] = node;
        Ok(id)
    }

    /// The offset is relative to itself, and leads back to the kind of another one.
    fn indirection(&self, decoder: &mut Decoder<'_>) -> Result<NodeId, DecodeError> {
        let here = decoder.clone();
        let offset = decoder.long("indirection of a TypeCode")?;
        let target = here.outer_offset().checked_add_signed(offset as isize);
        let id = target
            .filter(|_| offset < -4)
            .and_then(|target| self.places.get(&target));
        id.copied().ok_or_else(|| {
            here.error(
                "indirection of a TypeCode",
                DecodeErrorKind::BadIndirection(offset),
            )
        })
    }

    fn with_parameters(
        &mut self,
        kind: u32,
        decoder: &mut Decoder<'_>,
        depth: usize,
        here: &Decoder<'_>,
    ) -> Result<Node, DecodeError> {
        Ok(match kind {
            18 => Node::Plain(TypeCode::String(decoder.ulong("bound of a string")?)),
            27 => Node::Plain(TypeCode::WString(decoder.ulong("bound of a wide string")?)),
            28 => {
                let digits = decoder.ushort("digits of a fixed")?;
                let scale = decoder.short("scale of a fixed")?;
                if !(1..=FIXED_DIGITS_MAX).contains(&digits) {
                    let problem = "a fixed has 1 to 31 digits";
                    return Err(here.error("TypeCode", DecodeErrorKind::InvalidType(problem)));
                }
                Node::Plain(TypeCode::Fixed { digits, scale })
            }
            14..=17 | 19..=22 | 29..=36 => {
                let mut inner = decoder.encapsulation("parameters of a TypeCode")?;
                self.complex(kind, &mut inner, depth + 1)?
            }
            _ => {
                let kind = DecodeErrorKind::InvalidValue(kind.into());
                return Err(here.error("kind of a TypeCode", kind));
            }
        })
    }

    fn complex(
        &mut self,
        kind: u32,
        decoder: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<Node, DecodeError> {
        if kind == 19 || kind == 20 {
            let element = self.type_code(decoder, depth)?;
            let len = decoder.ulong("bound of a sequence or array")?;
            return Ok(match kind {
                19 => Node::Sequence(element, len),
                _ => Node::Array(element, len),
            });
        }
        let name = TypeName {
            id: text(decoder, "repository id")?,
            name: text(decoder, "name of a type")?,
        };
        Ok(match kind {
            14 => Node::Named(NamedKind::ObjectReference, name),
            31 => Node::Named(NamedKind::Native, name),
            32 => Node::Named(NamedKind::AbstractInterface, name),
            33 => Node::Named(NamedKind::LocalInterface, name),
            34 => Node::Named(NamedKind::Component, name),
            35 => Node::Named(NamedKind::Home, name),
            15 | 22 => {
                // A name of at least 5 bytes, and a kind.
                let count = decoder.count(9, COUNT_MAX, "members of a struct")?;
                let members = (0..count).map(|_| {
                    let name = text(decoder, "name of a member")?;
                    Ok((name, self.type_code(decoder, depth)?))
                });
                Node::Struct {
                    members: members.collect::<Result<_, _>>()?,
                    is_exception: kind == 22,
                    name,
                }
            }
            16 => self.union(name, decoder, depth)?,
            17 => {
                let count = decoder.count(5, COUNT_MAX, "enumerators")?;
                let enumerators = (0..count).map(|_| text(decoder, "enumerator"));
                Node::Enum(EnumType {
                    enumerators: enumerators.collect::<Result<_, _>>()?,
                    name,
                })
            }
            21 => Node::Alias(name, self.type_code(decoder, depth)?),
            30 => Node::ValueBox(name, self.type_code(decoder, depth)?),
            _ => {
                let modifier = decoder.short("modifier of a valuetype")?;
                let base = self.type_code(decoder, depth)?;
                let count = decoder.count(11, COUNT_MAX, "members of a valuetype")?;
                let members = (0..count).map(|_| {
                    let name = text(decoder, "name of a member")?;
                    let code = self.type_code(decoder, depth)?;
                    Ok((name, code, decoder.short("visibility of a member")?))
                });
                Node::Value {
                    is_event: kind == 36,
                    members: members.collect::<Result<_, _>>()?,
                    name,
                    modifier,
                    base,
                }
            }
        })
    }

    fn union(
        &mut self,
        name: TypeName,
        decoder: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<Node, DecodeError> {
        let here = decoder.clone();
        let discriminator = self.type_code(decoder, depth)?;
        let kind = self.discriminator(discriminator);
        let kind = kind.ok_or_else(|| {
            let problem =
                "a union is selected by an integer, a character, a boolean or an enumeration";
            here.error(
                "discriminator of a union",
                DecodeErrorKind::InvalidType(problem),
            )
        })?;
        let here = decoder.clone();
        let default = decoder.long("default case of a union")?;
        let count = decoder.count(10, COUNT_MAX, "cases of a union")?;
        let default = match usize::try_from(default) {
            Err(_) => None,
            Ok(index) if index < count => Some(index),
            Ok(_) => {
                let kind = DecodeErrorKind::InvalidValue(default.into());
                return Err(here.error("default case of a union", kind));
            }
        };
        let cases = (0..count).map(|_| {
            let label = kind.decode(decoder)?;
            let name = text(decoder, "name of a case")?;
            Ok((label, name, self.type_code(decoder, depth)?))
        });
        Ok(Node::Union {
            cases: cases.collect::<Result<_, _>>()?,
            name,
            discriminator,
            default,
        })
    }

    fn discriminator(&self, mut id: NodeId) -> Option<Discriminator> {
        // An alias may lead to itself.
        for _ in 0..TYPE_CODE_DEPTH_MAX {
            match &self.nodes[id] {
                Node::Alias(_, original) => id = *original,
                Node::Enum(_) => return Some(Discriminator::ULong),
                Node::Plain(code) => return Discriminator::of(code),
                _ => return None,
            }
        }
        None
    }
}

/// More members or enumerators than this would be above [`TYPE_CODE_WEIGHT_MAX`].
const COUNT_MAX: usize = TYPE_CODE_WEIGHT_MAX / super::TYPE_CODE_NODE_WEIGHT;

fn text(decoder: &mut Decoder<'_>, what: &'static str) -> Result<String, DecodeError> {
    let here = decoder.clone();
    let text = decoder.name(what)?;
    if text.len() > NAME_LEN_MAX {
        let (len, max) = (text.len() as u64, NAME_LEN_MAX as u64);
        return Err(here.error(what, DecodeErrorKind::TooLong { len, max }));
    }
    Ok(text)
}

/// The kinds without parameters.
fn simple(kind: u32) -> Option<TypeCode> {
    Some(match kind {
        0 => TypeCode::Null,
        1 => TypeCode::Void,
        2 => TypeCode::Short,
        3 => TypeCode::Long,
        4 => TypeCode::UShort,
        5 => TypeCode::ULong,
        6 => TypeCode::Float,
        7 => TypeCode::Double,
        8 => TypeCode::Boolean,
        9 => TypeCode::Char,
        10 => TypeCode::Octet,
        11 => TypeCode::Any,
        12 => TypeCode::TypeCode,
        13 => TypeCode::Principal,
        23 => TypeCode::LongLong,
        24 => TypeCode::ULongLong,
        25 => TypeCode::LongDouble,
        26 => TypeCode::WChar,
        _ => return None,
    })
}

/// How the discriminator of a union is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Discriminator {
    Short,
    UShort,
    Long,
    ULong,
    LongLong,
    ULongLong,
    Boolean,
    Char,
    WChar,
}

impl Discriminator {
    /// That of a type, behind its aliases; `None` for a type that selects nothing.
    pub(crate) fn of(code: &TypeCode) -> Option<Self> {
        Some(match code.original() {
            TypeCode::Short => Self::Short,
            TypeCode::UShort => Self::UShort,
            TypeCode::Long => Self::Long,
            TypeCode::ULong | TypeCode::Enum(_) => Self::ULong,
            TypeCode::LongLong => Self::LongLong,
            TypeCode::ULongLong => Self::ULongLong,
            TypeCode::Boolean => Self::Boolean,
            TypeCode::Char => Self::Char,
            TypeCode::WChar => Self::WChar,
            _ => return None,
        })
    }

    pub(crate) fn decode(self, decoder: &mut Decoder<'_>) -> Result<i128, DecodeError> {
        let what = "discriminator of a union";
        Ok(match self {
            Self::Short => decoder.short(what)?.into(),
            Self::UShort => decoder.ushort(what)?.into(),
            Self::Long => decoder.long(what)?.into(),
            Self::ULong => decoder.ulong(what)?.into(),
            Self::LongLong => decoder.longlong(what)?.into(),
            Self::ULongLong => decoder.ulonglong(what)?.into(),
            Self::Boolean => decoder.boolean(what)?.into(),
            Self::Char => u32::from(decoder.char(what)?).into(),
            Self::WChar => u32::from(decoder.wchar(what)?).into(),
        })
    }
}
