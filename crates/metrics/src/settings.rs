//! Views and maps, as an operator defines them.

use std::collections::BTreeMap;

use crate::core::GroupBy;

/// A metrics view, with the maps that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsView {
    /// The maps by name. Maps that the program does not have are left out of its answers.
    pub maps: BTreeMap<String, MetricsMap>,
    /// True if the view measures from the start. Default: true.
    #[doc(alias = "Disabled")]
    pub is_enabled: bool,
}

impl MetricsView {
    /// A view without maps, which measures from the start.
    pub fn empty() -> Self {
        Self {
            maps: BTreeMap::new(),
            is_enabled: true,
        }
    }

    /// A view with all these maps, and a metrics object for each object that is measured.
    pub fn by_id(kinds: &[MapKind]) -> Self {
        let mut view = Self::empty();
        for kind in kinds {
            if let Ok(group_by) = GroupBy::parse("id", kind.attributes) {
                let map = MetricsMap::new(group_by);
                view.maps.insert(kind.name.to_owned(), map);
            }
        }
        view
    }
}

/// A map of a metrics view.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsMap {
    /// How it groups.
    #[doc(alias = "GroupBy")]
    pub group_by: GroupBy,
    /// How many metrics objects are kept after their last object is gone. Default 10, as in Ice.
    #[doc(alias = "RetainDetached")]
    pub retained_max: usize,
}

impl MetricsMap {
    /// A map that groups in this way, with defaults for everything else.
    pub fn new(group_by: GroupBy) -> Self {
        Self {
            group_by,
            retained_max: 10,
        }
    }
}

/// A kind of map, as a program has it: what is measured, and by which attributes it can be grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapKind {
    /// The name of the map, such as `Topic`.
    pub name: &'static str,
    /// The attributes. One that ends with `.*` stands for any name with the same beginning.
    pub attributes: &'static [&'static str],
}
