//! Printing and comparing graphs: both end, whatever leads to what.
//!
//! The traversals are the derived ones of the structs, so what has been seen is kept per thread for
//! as long as the outermost call runs.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Weak};

use super::instance::Slot;

/// Calls inside one another after which links back are not followed any more: a peer decides what
/// they lead to, and each takes stack.
const BACK_DEPTH_MAX: usize = 200;

#[derive(Default)]
struct Traversal {
    depth: usize,
    seen: HashSet<(usize, usize)>,
}

impl Traversal {
    fn enter(&mut self) -> usize {
        self.depth += 1;
        self.depth
    }

    fn leave(&mut self) {
        self.depth -= 1;
        if self.depth == 0 {
            self.seen.clear();
        }
    }
}

thread_local! {
    static PRINTED: RefCell<Traversal> = RefCell::default();
    static COMPARED: RefCell<Traversal> = RefCell::default();
}

/// Prints an instance, or only its type if it has been printed already.
pub(super) fn print(slot: &Arc<Slot>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(instance) = slot.get() else {
        return f.write_str("(incomplete)");
    };
    let is_new = PRINTED.with_borrow_mut(|printed| printed.seen.insert((address(slot), 0)));
    if !is_new {
        return write!(f, "(again {})", instance.value.class_type_id());
    }
    PRINTED.with_borrow_mut(Traversal::enter);
    let result = fmt::Debug::fmt(&*instance.value, f);
    PRINTED.with_borrow_mut(Traversal::leave);
    result
}

/// Prints the type of the instance that a link leads back to.
pub(super) fn print_back(slot: &Weak<Slot>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match slot.upgrade().as_deref().map(Slot::get) {
        None => f.write_str("(gone)"),
        Some(None) => f.write_str("(incomplete)"),
        Some(Some(instance)) => write!(f, "(back to {})", instance.value.class_type_id()),
    }
}

/// Whether two instances are equal; a pair that is being compared already, or was, counts as equal.
pub(super) fn equal(one: &Arc<Slot>, other: &Arc<Slot>, is_owned: bool) -> bool {
    if Arc::ptr_eq(one, other) {
        return true;
    }
    let pair = (address(one), address(other));
    let is_new = COMPARED.with_borrow_mut(|compared| compared.seen.insert(pair));
    if !is_new {
        return true;
    }
    let depth = COMPARED.with_borrow_mut(Traversal::enter);
    let result = (is_owned || depth < BACK_DEPTH_MAX)
        && match (one.get(), other.get()) {
            (Some(one), Some(other)) => {
                one.value.equals(&*other.value) && one.unknown == other.unknown
            }
            _ => false,
        };
    COMPARED.with_borrow_mut(Traversal::leave);
    result
}

fn address(slot: &Arc<Slot>) -> usize {
    Arc::as_ptr(slot) as usize
}
