//! Classes of Slice: shared instances, graphs with cycles, and what generated code says of each class.

pub use floe_wire::encoding::{
    AnyClass, Class, ClassInfo, ClassReader, ClassTable, ClassType, Classes, ClassesOf, Draft,
    Extends, Graph, Link, Ref, UnknownClass, UnknownSlice,
};
