//! The types of a TypeCode as a graph, as indirections on the wire make it, and the tree that it stands for.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    EnumType, Member, NamedKind, StructType, TYPE_CODE_DEPTH_MAX, TYPE_CODE_NODE_WEIGHT,
    TYPE_CODE_WEIGHT_MAX, TypeCode, TypeName, UnionCase, UnionType, ValueMember, ValueType,
};
use crate::cdr::DecodeErrorKind;

/// An index of a node.
pub(super) type NodeId = usize;

/// A type, with the indices of those that it contains.
#[derive(Debug)]
pub(super) enum Node {
    /// Its parameters are not read yet.
    Open,
    Plain(TypeCode),
    Named(NamedKind, TypeName),
    Struct {
        is_exception: bool,
        name: TypeName,
        members: Vec<(String, NodeId)>,
    },
    Union {
        name: TypeName,
        discriminator: NodeId,
        default: Option<usize>,
        cases: Vec<(i128, String, NodeId)>,
    },
    Enum(EnumType),
    Sequence(NodeId, u32),
    Array(NodeId, u32),
    Alias(TypeName, NodeId),
    ValueBox(TypeName, NodeId),
    Value {
        is_event: bool,
        name: TypeName,
        modifier: i16,
        base: NodeId,
        members: Vec<(String, NodeId, i16)>,
    },
}

impl Node {
    /// IDL allows recursion to these alone.
    fn may_recur(&self) -> bool {
        matches!(
            self,
            Self::Struct { .. } | Self::Union { .. } | Self::Value { .. } | Self::ValueBox(..)
        )
    }

    fn weight(&self) -> usize {
        let text = |text: &String| text.len() + TYPE_CODE_NODE_WEIGHT;
        let name = |name: &TypeName| name.id.len() + name.name.len();
        let parts = match self {
            Self::Struct {
                name: n, members, ..
            } => name(n) + members.iter().map(|(t, _)| text(t)).sum::<usize>(),
            Self::Union { name: n, cases, .. } => {
                name(n) + cases.iter().map(|(_, t, _)| text(t)).sum::<usize>()
            }
            Self::Value {
                name: n, members, ..
            } => name(n) + members.iter().map(|(t, ..)| text(t)).sum::<usize>(),
            Self::Enum(code) => name(&code.name) + code.enumerators.iter().map(text).sum::<usize>(),
            Self::Named(_, n) | Self::Alias(n, _) | Self::ValueBox(n, _) => name(n),
            Self::Open | Self::Plain(_) | Self::Sequence(..) | Self::Array(..) => 0,
        };
        TYPE_CODE_NODE_WEIGHT + parts
    }
}

/// The tree that the graph below `root` stands for, whose weight is taken off `weight_left`.
pub(super) fn unfold(
    nodes: &[Node],
    root: NodeId,
    weight_left: &mut usize,
) -> Result<Arc<TypeCode>, DecodeErrorKind> {
    let max = TYPE_CODE_WEIGHT_MAX.min(*weight_left);
    let mut unfolding = Unfolding {
        nodes,
        path: Vec::new(),
        done: HashMap::new(),
        left: max,
    };
    let (code, _) = unfolding.tree(root)?;
    *weight_left -= max - unfolding.left;
    Ok(code)
}

struct Unfolding<'a> {
    nodes: &'a [Node],
    /// The types that contain the one being made, from the outermost.
    path: Vec<NodeId>,
    /// Trees that lead to nothing outside, with their sums.
    done: HashMap<NodeId, (Arc<TypeCode>, Below)>,
    /// The weight that may still be made.
    left: usize,
}

/// Sums over a type and those that it contains.
#[derive(Clone, Copy)]
struct Below {
    /// The index in the path of the outermost type to which it leads; the path's length if it leads to none.
    reach: usize,
    weight: usize,
    /// The number of levels.
    height: usize,
}

impl Unfolding<'_> {
    fn tree(&mut self, id: NodeId) -> Result<(Arc<TypeCode>, Below), DecodeErrorKind> {
        let depth = self.path.len();
        if let Some((code, sums)) = self.done.get(&id) {
            let (code, sums) = (Arc::clone(code), *sums);
            check_depth(depth + sums.height)?;
            self.spend(sums.weight)?;
            return Ok((
                code,
                Below {
                    reach: depth,
                    ..sums
                },
            ));
        }
        check_depth(depth + 1)?;
        let nodes = self.nodes;
        let node = &nodes[id];
        if let Some(at) = self.path.iter().rposition(|open| *open == id) {
            if !node.may_recur() {
                let problem = "only structs, unions and valuetypes may contain themselves";
                return Err(DecodeErrorKind::InvalidType(problem));
            }
            self.spend(TYPE_CODE_NODE_WEIGHT)?;
            let sums = Below {
                reach: at,
                weight: TYPE_CODE_NODE_WEIGHT,
                height: 1,
            };
            return Ok((Arc::new(TypeCode::Recursive(depth - at)), sums));
        }
        let own = node.weight();
        self.spend(own)?;
        self.path.push(id);
        let mut below = Below {
            reach: depth,
            weight: own,
            height: 1,
        };
        let code = self.code(node, &mut below);
        self.path.pop();
        let code = Arc::new(code?);
        if below.reach == depth {
            self.done.insert(id, (Arc::clone(&code), below));
        }
        Ok((code, below))
    }

    fn spend(&mut self, weight: usize) -> Result<(), DecodeErrorKind> {
        let max = TYPE_CODE_WEIGHT_MAX as u64;
        let left = self.left.checked_sub(weight);
        self.left = left.ok_or(DecodeErrorKind::TooLong {
            len: max.saturating_add(weight as u64),
            max,
        })?;
        Ok(())
    }

    fn child(&mut self, id: NodeId, below: &mut Below) -> Result<Arc<TypeCode>, DecodeErrorKind> {
        let (code, sums) = self.tree(id)?;
        below.reach = below.reach.min(sums.reach);
        below.weight = below.weight.saturating_add(sums.weight);
        below.height = below.height.max(sums.height + 1);
        Ok(code)
    }

    fn code(&mut self, node: &Node, below: &mut Below) -> Result<TypeCode, DecodeErrorKind> {
        Ok(match node {
            Node::Open => {
                let problem = "it consists of an indirection to itself";
                return Err(DecodeErrorKind::InvalidType(problem));
            }
            Node::Plain(code) => code.clone(),
            Node::Named(kind, name) => TypeCode::Named(*kind, name.clone()),
            Node::Enum(code) => TypeCode::Enum(code.clone()),
            Node::Struct {
                is_exception,
                name,
                members,
            } => {
                let members = members.iter().map(|(name, id)| {
                    let code = self.child(*id, below)?;
                    Ok(Member {
                        name: name.clone(),
                        code,
                    })
                });
                let members = members.collect::<Result<_, _>>()?;
                let code = StructType {
                    name: name.clone(),
                    members,
                };
                match is_exception {
                    true => TypeCode::Except(code),
                    false => TypeCode::Struct(code),
                }
            }
            Node::Union {
                name,
                discriminator,
                default,
                cases,
            } => {
                let discriminator = self.child(*discriminator, below)?;
                let cases = cases.iter().map(|(label, name, id)| {
                    let (label, name) = (*label, name.clone());
                    Ok(UnionCase {
                        label,
                        name,
                        code: self.child(*id, below)?,
                    })
                });
                TypeCode::Union(Box::new(UnionType {
                    name: name.clone(),
                    cases: cases.collect::<Result<_, _>>()?,
                    discriminator,
                    default: *default,
                }))
            }
            Node::Sequence(element, bound) => {
                let element = self.child(*element, below)?;
                TypeCode::Sequence {
                    element,
                    bound: *bound,
                }
            }
            Node::Array(element, len) => {
                let element = self.child(*element, below)?;
                TypeCode::Array { element, len: *len }
            }
            Node::Alias(name, original) => {
                let original = self.child(*original, below)?;
                TypeCode::Alias {
                    name: name.clone(),
                    original,
                }
            }
            Node::ValueBox(name, boxed) => {
                let boxed = self.child(*boxed, below)?;
                TypeCode::ValueBox {
                    name: name.clone(),
                    boxed,
                }
            }
            Node::Value {
                is_event,
                name,
                modifier,
                base,
                members,
            } => {
                let base = self.child(*base, below)?;
                let members = members.iter().map(|(name, id, visibility)| {
                    let (name, visibility) = (name.clone(), *visibility);
                    Ok(ValueMember {
                        name,
                        code: self.child(*id, below)?,
                        visibility,
                    })
                });
                TypeCode::Value(Box::new(ValueType {
                    is_event: *is_event,
                    name: name.clone(),
                    modifier: *modifier,
                    members: members.collect::<Result<_, _>>()?,
                    base,
                }))
            }
        })
    }
}

fn check_depth(depth: usize) -> Result<(), DecodeErrorKind> {
    match depth > TYPE_CODE_DEPTH_MAX {
        true => Err(DecodeErrorKind::TooDeep(TYPE_CODE_DEPTH_MAX)),
        false => Ok(()),
    }
}
