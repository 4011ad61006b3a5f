//! Definitions of a model: what can stand in a module.

use super::{ConstValue, Operation, Type};
use crate::diagnostic::Span;

/// Index of a definition in [`Model::definitions`](super::Model::definitions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionId(pub usize);

/// Index of a file in [`Model::files`](super::Model::files).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub usize);

/// A file that took part in a compilation.
#[derive(Debug, Clone)]
pub struct FileInfo {
    /// The path as it was opened: as given for a main file, search path joined for an included one.
    pub path: std::path::PathBuf,
    /// True if the file was asked for, as opposed to included.
    pub is_main: bool,
    /// The `[[...]]` metadata of the file.
    pub metadata: Vec<Metadata>,
}

/// One definition, of any kind.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Simple name, without the backslash of an escaped keyword.
    pub name: String,
    /// Fully qualified name with leading `::`; the type id on the wire.
    pub scoped: String,
    /// Names of the enclosing modules, outermost first; never empty.
    pub modules: Vec<String>,
    /// The file that defines it.
    pub file: FileId,
    /// Where its name stands.
    pub span: Span,
    /// Metadata in front of it, in order.
    pub metadata: Vec<Metadata>,
    /// Its doc comment, markers and leading stars removed, lines joined by `\n`.
    pub doc: Option<String>,
    /// The kind of definition.
    pub kind: DefinitionKind,
}

/// The kind of a definition.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DefinitionKind {
    /// A constant.
    Const(Const),
    /// An enumeration.
    Enum(Enum),
    /// A structure.
    Struct(Struct),
    /// A named sequence.
    Sequence(Sequence),
    /// A named dictionary.
    Dictionary(Dictionary),
    /// A user exception.
    Exception(Exception),
    /// An interface.
    Interface(Interface),
    /// A class.
    Class(Class),
}

/// One metadata directive: `["deprecated:use other"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The whole directive as written between the quotes.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// `const int N = 5;`
#[derive(Debug, Clone)]
pub struct Const {
    /// A built-in type or an enumeration.
    pub r#type: Type,
    /// The checked value, in range of the type.
    pub value: ConstValue,
}

/// `enum Color { red, green = 5 }`
#[derive(Debug, Clone)]
pub struct Enum {
    /// At least one, in order of declaration; values are unique.
    pub enumerators: Vec<Enumerator>,
}

impl Enum {
    /// The largest value of the type: it decides the width in encoding 1.0.
    pub fn max_value(&self) -> i32 {
        self.enumerators
            .iter()
            .map(|enumerator| enumerator.value)
            .max()
            .unwrap_or(0)
    }
}

/// One name of an enumeration.
#[derive(Debug, Clone)]
pub struct Enumerator {
    /// Its name.
    pub name: String,
    /// Its value, never negative.
    pub value: i32,
    /// Metadata (Ice 3.8).
    pub metadata: Vec<Metadata>,
    /// Its doc comment.
    pub doc: Option<String>,
    /// Where its name stands.
    pub span: Span,
}

/// `struct Point { int x; int y = 2; }`
#[derive(Debug, Clone)]
pub struct Struct {
    /// At least one, in the order in which they are encoded.
    pub members: Vec<Member>,
}

/// A data member of a struct, class or exception.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: Type,
    /// The tag of an optional member.
    pub tag: Option<i32>,
    /// The declared default, checked against the type.
    pub default: Option<ConstValue>,
    /// Metadata in front of it.
    pub metadata: Vec<Metadata>,
    /// Its doc comment.
    pub doc: Option<String>,
    /// Where its name stands.
    pub span: Span,
}

/// `sequence<int> Numbers;`
#[derive(Debug, Clone)]
pub struct Sequence {
    /// Type of the elements.
    pub element: Type,
    /// Metadata on the element type.
    pub element_metadata: Vec<Metadata>,
}

/// `dictionary<string, int> Ages;`
#[derive(Debug, Clone)]
pub struct Dictionary {
    /// Type of the keys, a legal key type.
    pub key: Type,
    /// Metadata on the key type.
    pub key_metadata: Vec<Metadata>,
    /// Type of the values.
    pub value: Type,
    /// Metadata on the value type.
    pub value_metadata: Vec<Metadata>,
}

/// `exception Failure extends Base { string reason; }`
#[derive(Debug, Clone)]
pub struct Exception {
    /// The exception that this one extends.
    pub base: Option<DefinitionId>,
    /// Its own members, without inherited ones.
    pub members: Vec<Member>,
}

/// `interface Store extends Base { ... }`
#[derive(Debug, Clone)]
pub struct Interface {
    /// The interfaces that this one extends, in order, each once.
    pub bases: Vec<DefinitionId>,
    /// Its own operations, without inherited ones.
    pub operations: Vec<Operation>,
    /// False for a forward declaration that no file completes: proxies to it are fine, nothing else.
    pub is_complete: bool,
}

/// `class Node(3) extends Base { ... }`
#[derive(Debug, Clone)]
pub struct Class {
    /// The compact id in parentheses.
    pub compact_id: Option<i32>,
    /// The class that this one extends.
    pub base: Option<DefinitionId>,
    /// The interfaces that this one implements, in order, each once (Ice 3.7): what a proxy to the
    /// class can call besides.
    pub implements: Vec<DefinitionId>,
    /// Its own members, without inherited ones.
    pub members: Vec<Member>,
    /// Its own operations (Ice 3.7), for proxies to the class: instances carry only data.
    pub operations: Vec<Operation>,
    /// False for a forward declaration that no file completes.
    pub is_complete: bool,
}
