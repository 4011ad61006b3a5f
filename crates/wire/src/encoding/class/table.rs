//! The tables of the classes that a decoder can make instances of.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::{AnyClass, Class, ClassId, ClassReader};
use crate::encoding::DecodeError;

/// A table of the classes that a decoder can make instances of.
pub trait Classes: Send + Sync {
    /// Finds the class with this name.
    fn find(&self, id: ClassId<'_>) -> Option<&dyn ClassFactory>;

    /// The table itself, if it is a [`ClassTable`]. A table that uses others looks into each of those once, however many
    /// ways lead there.
    fn as_table(&self) -> Option<&ClassTable> {
        None
    }
}

/// Makes instances of a class.
pub trait ClassFactory {
    /// Reads all slices of an instance, from the slice of the class on.
    ///
    /// # Errors
    /// [`DecodeError`] if a slice is malformed.
    fn decode(&self, reader: &mut ClassReader<'_, '_>) -> Result<Box<dyn AnyClass>, DecodeError>;

    /// Returns true if the more derived slices, of unknown classes, are kept.
    fn keeps_unknown_slices(&self) -> bool {
        true
    }
}

/// A class in the table of its contract.
#[derive(Debug, Clone, Copy)]
pub struct ClassInfo {
    type_id: &'static str,
    compact_id: Option<i32>,
    keeps_unknown_slices: bool,
    decode: fn(&mut ClassReader<'_, '_>) -> Result<Box<dyn AnyClass>, DecodeError>,
}

impl ClassInfo {
    /// The entry of `T`.
    pub const fn of<T: Class>() -> Self {
        Self {
            type_id: T::TYPE_ID,
            compact_id: T::COMPACT_ID,
            keeps_unknown_slices: T::KEEPS_UNKNOWN_SLICES,
            decode: |reader| Ok(Box::new(T::decode_slices(reader)?)),
        }
    }
}

impl ClassFactory for ClassInfo {
    fn decode(&self, reader: &mut ClassReader<'_, '_>) -> Result<Box<dyn AnyClass>, DecodeError> {
        (self.decode)(reader)
    }

    fn keeps_unknown_slices(&self) -> bool {
        self.keeps_unknown_slices
    }
}

/// The classes of a contract, and those of the contracts that it uses.
///
/// A decoder that reads a class of a contract knows all classes that are reachable from its table. They must be known
/// before an instance is read: in the sliced format, an instance may come before its declared type.
///
/// A peer may name other classes than these, and each time another one. So the first search makes an index of all that are
/// reachable, and the time of a search does not depend on their number.
pub struct ClassTable {
    classes: &'static [ClassInfo],
    used: &'static [&'static dyn Classes],
    index: OnceLock<Index>,
}

/// The classes that are reachable from a table.
struct Index {
    by_type_id: HashMap<&'static str, &'static ClassInfo>,
    by_compact_id: HashMap<i32, &'static ClassInfo>,
    /// Used tables of other kinds.
    others: Vec<&'static dyn Classes>,
}

impl ClassTable {
    /// The classes that a contract declares, and the tables of the contracts that it includes.
    pub const fn new(classes: &'static [ClassInfo], used: &'static [&'static dyn Classes]) -> Self {
        let index = OnceLock::new();
        Self {
            classes,
            used,
            index,
        }
    }
}

impl Index {
    /// Visits each reachable table once. If two of them have a class with the same name, the nearer one counts.
    fn of(table: &ClassTable) -> Self {
        let mut index = Self {
            by_type_id: HashMap::new(),
            by_compact_id: HashMap::new(),
            others: Vec::new(),
        };
        let key = |(classes, used): &Lists| (classes.as_ptr().addr(), used.as_ptr().addr());
        let mut tables: Vec<Lists> = vec![(table.classes, table.used)];
        let mut seen = HashSet::from([key(&tables[0])]);
        let mut next = 0;
        while let Some((classes, used)) = tables.get(next).copied() {
            next += 1;
            for class in classes {
                index.by_type_id.entry(class.type_id).or_insert(class);
                if let Some(id) = class.compact_id {
                    index.by_compact_id.entry(id).or_insert(class);
                }
            }
            for used in used {
                match used.as_table() {
                    Some(table) if seen.insert(key(&(table.classes, table.used))) => {
                        tables.push((table.classes, table.used));
                    }
                    Some(_) => {}
                    None => index.others.push(*used),
                }
            }
        }
        index
    }
}

/// The classes of a table, and the tables that it uses.
type Lists = (&'static [ClassInfo], &'static [&'static dyn Classes]);

impl Classes for ClassTable {
    fn find(&self, id: ClassId<'_>) -> Option<&dyn ClassFactory> {
        let index = self.index.get_or_init(|| Index::of(self));
        let found = match id {
            ClassId::Name(type_id) => index.by_type_id.get(type_id),
            ClassId::Compact(compact_id) => index.by_compact_id.get(&compact_id),
        };
        match found {
            Some(class) => Some(*class),
            None => index.others.iter().find_map(|other| other.find(id)),
        }
    }

    fn as_table(&self) -> Option<&ClassTable> {
        Some(self)
    }
}

/// The classes of the contract that declares `T`, for the table of a contract that includes it.
pub struct ClassesOf<T: Class>(PhantomData<fn() -> T>);

impl<T: Class> ClassesOf<T> {
    /// The classes of that contract.
    pub const NEW: Self = Self(PhantomData);
}

impl<T: Class> Classes for ClassesOf<T> {
    fn find(&self, id: ClassId<'_>) -> Option<&dyn ClassFactory> {
        T::classes().find(id)
    }

    fn as_table(&self) -> Option<&ClassTable> {
        T::classes().as_table()
    }
}

impl<T: Class> fmt::Debug for ClassesOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClassesOf({})", T::TYPE_ID)
    }
}

impl fmt::Debug for ClassTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let type_ids = self.classes.iter().map(|class| class.type_id);
        f.debug_list().entries(type_ids).finish()
    }
}

/// The number of classes, because a table does not know its name.
impl fmt::Debug for dyn Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_table() {
            Some(table) => fmt::Debug::fmt(table, f),
            None => f.write_str("(classes)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Encoder;

    /// How many tables were looked into.
    static LOOKS: AtomicUsize = AtomicUsize::new(0);

    /// A class of the contract with this number, which includes those with lower numbers.
    #[derive(Debug, PartialEq)]
    struct In<const CONTRACT: usize>;

    impl<const CONTRACT: usize> Class for In<CONTRACT> {
        const TYPE_ID: &'static str = ["::A::C", "::B::C", "::C::C", "::D::C"][CONTRACT];
        const COMPACT_ID: Option<i32> = Some(CONTRACT as i32);

        fn classes() -> &'static dyn Classes {
            LOOKS.fetch_add(1, Ordering::Relaxed);
            &TABLES[CONTRACT]
        }

        fn encode_members(&self, _: &mut Encoder<'_>) {}

        fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
            reader.slice(Self::TYPE_ID, |_| Ok(Self))
        }
    }

    /// Generated code names the table of a contract once for each of its classes.
    static TABLES: [ClassTable; 4] = [
        ClassTable::new(&[ClassInfo::of::<In<0>>(); CLASSES], &[]),
        ClassTable::new(
            &[ClassInfo::of::<In<1>>(); CLASSES],
            &[&ClassesOf::<In<0>>::NEW as &dyn Classes; CLASSES],
        ),
        ClassTable::new(
            &[ClassInfo::of::<In<2>>(); CLASSES],
            &[&ClassesOf::<In<1>>::NEW as &dyn Classes; CLASSES],
        ),
        ClassTable::new(
            &[ClassInfo::of::<In<3>>(); CLASSES],
            &[&ClassesOf::<In<2>>::NEW as &dyn Classes; CLASSES],
        ),
    ];
    const CLASSES: usize = 20;

    #[test]
    fn a_name_that_no_contract_has_is_looked_for_without_a_look_at_each_table_again() {
        let known = |id| TABLES[3].find(id).is_some();
        for contract in 0..4 {
            assert!(known(ClassId::Compact(contract)));
        }
        assert!(known(ClassId::Name("::A::C")) && known(ClassId::Name("::D::C")));
        let looks = LOOKS.load(Ordering::Relaxed);
        assert!(looks <= 4 * CLASSES, "{looks} looks");
        for unknown in 100..1_000 {
            assert!(!known(ClassId::Compact(unknown)));
        }
        assert!(!known(ClassId::Name("::A::D")));
        assert_eq!(LOOKS.load(Ordering::Relaxed), looks);
    }
}
