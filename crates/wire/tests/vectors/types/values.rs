//! Module `V` of the vectors of classes and optionals.

use std::collections::BTreeMap;

use floe_wire::encoding::{ClassInfo, ClassTable, Link};
use floe_wire::reference::Reference;

use super::{class, enumeration, structure};

/// A class table as generated code has it for each contract: its classes, to be found by type id, and the tables of
/// the contracts that it includes.
pub(crate) static CLASSES: ClassTable = ClassTable::new(
    &[
        ClassInfo::of::<C0>(),
        ClassInfo::of::<C1>(),
        ClassInfo::of::<C2>(),
        ClassInfo::of::<C3>(),
        ClassInfo::of::<Node>(),
        ClassInfo::of::<Tree>(),
        ClassInfo::of::<Compact1>(),
        ClassInfo::of::<Compact2>(),
        ClassInfo::of::<Base>(),
        ClassInfo::of::<Leaf>(),
        ClassInfo::of::<WithMembers>(),
        ClassInfo::of::<OptC>(),
        ClassInfo::of::<OptD>(),
    ],
    &[&MORE_CLASSES],
);

/// As if it came from a contract of its own.
static MORE_CLASSES: ClassTable = ClassTable::new(&[ClassInfo::of::<OptSelf>()], &[]);

class!("::V::C0" in CLASSES, C0 {});
class!("::V::C1" in CLASSES, C1 { i: i32, s: String });
class!("::V::C2" in CLASSES, C2: C1 { d: f64 });
class!("::V::C3" in CLASSES, C3: C2, C1 { names: Vec<String> });
class!("::V::Node" in CLASSES, Node { name: String, next: Link<Node> });
class!("::V::Tree" in CLASSES, Tree { value: i32, left: Link<Tree>, right: Link<Tree> });
class!("::V::Compact1" (7) in CLASSES, Compact1 { i: i32 });
class!("::V::Compact2" (300) in CLASSES, Compact2: Compact1 { s: String });
class!("::V::Base" in CLASSES, Base {});
class!("::V::Leaf" in CLASSES, Leaf: Base { n: Link<Node>, other: Link<Base> });
class!("::V::WithMembers" in CLASSES, WithMembers {
    color: Color, pts: Vec<Point>, dict: BTreeMap<String, i32>, prx: Option<Reference>
});
class!("::V::OptC" in CLASSES, OptC { a: i32; 1 o1: i32, 40 o40: String });
class!("::V::OptD" in CLASSES, OptD: OptC { b: String; 2 o2: f64, 300 o300: Point });
class!("::V::OptSelf" in MORE_CLASSES, OptSelf { id: i32; 5 peer: Link<OptSelf> });

structure!(Point { x: i32, y: i32 });
structure!(Key {
    major: i16,
    minor: String
});
structure!(Empty1 { b: bool });
structure!(WithNode { before: i32, node: Link<Node>, after: i32 });

enumeration!(Color { Red = 0, Green = 1, Blue = 2 } max 2);
enumeration!(EBig { Zero = 0, Mid = 70_000, Max = 2_147_483_647 } max 2_147_483_647);
