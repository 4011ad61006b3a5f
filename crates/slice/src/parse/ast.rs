//! The syntax tree: what was written, names not yet looked up.

use crate::diagnostic::Span;
use crate::model::{FileId, Metadata, Primitive};

/// One translation unit.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) items: Vec<Item>,
    /// The `[[...]]` metadata with the file that it stands in.
    pub(crate) file_metadata: Vec<(FileId, Metadata)>,
    /// True if an included file was not found.
    pub(crate) lacks_files: bool,
}

/// The content of a module, or of the top of a file.
#[derive(Debug)]
pub(crate) enum Item {
    Module(Module),
    Definition(Box<Definition>),
}

/// `module A { ... }`, or `module A::B { ... }` with a path of two.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) prelude: Prelude,
    pub(crate) path: Vec<Name>,
    pub(crate) items: Vec<Item>,
}

/// The metadata and the comment before a definition, member, operation or enumerator.
#[derive(Debug, Default, Clone)]
pub(crate) struct Prelude {
    pub(crate) metadata: Vec<Metadata>,
    /// The doc comment with its markers.
    pub(crate) doc: Option<String>,
}

/// A name at its definition.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A name at its use: `A::B` or `::A::B`.
#[derive(Debug, Clone)]
pub(crate) struct ScopedName {
    pub(crate) is_absolute: bool,
    /// Never empty.
    pub(crate) parts: Vec<Name>,
    pub(crate) span: Span,
}

impl ScopedName {
    /// As written, without escapes.
    pub(crate) fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        let root = if self.is_absolute { "::" } else { "" };
        format!("{root}{}", parts.join("::"))
    }
}

/// Any definition but a module.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) prelude: Prelude,
    /// The keyword `local`.
    pub(crate) local: Option<Span>,
    pub(crate) name: Name,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    InterfaceDeclaration,
    Interface {
        bases: Vec<ScopedName>,
        operations: Vec<Operation>,
    },
    ClassDeclaration,
    Class(Class),
    Exception {
        base: Option<ScopedName>,
        members: Vec<Member>,
    },
    Struct {
        members: Vec<Member>,
        /// True if members are missing here because they could not be parsed.
        has_errors: bool,
    },
    Enum {
        enumerators: Vec<Enumerator>,
    },
    Sequence {
        element: AnnotatedType,
    },
    Dictionary {
        key: AnnotatedType,
        value: AnnotatedType,
    },
    Const {
        r#type: AnnotatedType,
        value: Value,
    },
}

#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) compact_id: Option<Value>,
    pub(crate) base: Option<ScopedName>,
    pub(crate) implements: Vec<ScopedName>,
    pub(crate) members: Vec<Member>,
    pub(crate) operations: Vec<Operation>,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) prelude: Prelude,
    pub(crate) tag: Option<Tag>,
    pub(crate) r#type: Type,
    pub(crate) name: Name,
    pub(crate) default: Option<Value>,
}

/// `optional(1)`
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) value: Value,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Enumerator {
    pub(crate) prelude: Prelude,
    pub(crate) name: Name,
    pub(crate) value: Option<Value>,
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) prelude: Prelude,
    pub(crate) is_idempotent: bool,
    /// `None` for `void`.
    pub(crate) returns: Option<(Option<Tag>, Type)>,
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) throws: Vec<ScopedName>,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) prelude: Prelude,
    pub(crate) is_out: bool,
    pub(crate) tag: Option<Tag>,
    pub(crate) r#type: Type,
    pub(crate) name: Name,
}

/// A type with the metadata in front of it.
#[derive(Debug)]
pub(crate) struct AnnotatedType {
    pub(crate) metadata: Vec<Metadata>,
    pub(crate) r#type: Type,
}

#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeKind {
    Primitive(Primitive),
    ObjectProxy,
    /// `Object` or `Value`.
    AnyClass,
    LocalObject,
    Named(ScopedName),
    Proxy(ScopedName),
}

/// A literal or the name of a constant or enumerator.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) kind: ValueKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ValueKind {
    Integer(i64),
    Float(f64),
    Bool(bool),
    String(String),
    Name(ScopedName),
}
