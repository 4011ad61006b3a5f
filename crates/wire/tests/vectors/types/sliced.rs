//! Module `S` of the vectors of slicing: what the receiver knows, and what only the sender does.

use floe_wire::encoding::{ClassInfo, ClassTable, Link};

use super::class;

/// All that the receiver knows.
pub(crate) static RECEIVER: ClassTable = ClassTable::new(
    &[
        ClassInfo::of::<Elem>(),
        ClassInfo::of::<PBase>(),
        ClassInfo::of::<PKnown>(),
        ClassInfo::of::<SBase>(),
        ClassInfo::of::<SKnown>(),
    ],
    &[],
);

/// The classes that only the sender knows.
pub(crate) static SENDER: ClassTable = ClassTable::new(
    &[
        ClassInfo::of::<PUnknown>(),
        ClassInfo::of::<PUnknown2>(),
        ClassInfo::of::<PCompact>(),
        ClassInfo::of::<SUnknown>(),
        ClassInfo::of::<SUnknown2>(),
    ],
    &[&RECEIVER],
);

class!("::S::Elem" in RECEIVER, Elem { v: i32, next: Link<Elem> });
class!("::S::PBase" in RECEIVER, PBase { pi: i32 });
class!("::S::PKnown" in RECEIVER, PKnown: PBase { ps: String });
class!("::S::SBase" in RECEIVER, SBase { sb: i32 });
class!("::S::SKnown" in RECEIVER, SKnown: SBase { sk: String });
class!("::S::PUnknown" in SENDER, PUnknown: PKnown, PBase { pd: f64, pe: Link<Elem> });
class!("::S::PUnknown2" in SENDER, PUnknown2: PUnknown, PKnown, PBase {
    ; 2 pn: Link<Elem>, 4 po: String
});
class!("::S::PCompact" (57) in SENDER, PCompact: PBase { pc: i16 });
class!("::S::SUnknown" in SENDER, SUnknown: SKnown, SBase { su: i16, se: Link<Elem> });
class!("::S::SUnknown2" in SENDER, SUnknown2: SUnknown, SKnown, SBase { s2: String });
