//! Printing and comparing graphs. Both end even if the graph has cycles, and both keep within their limit of the stack.
//!
//! The structs' derived implementations do the traversal. So each thread remembers the visited instances while its
//! outermost call runs.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use super::GRAPH_DEPTH_MAX;
use super::instance::Held;

#[derive(Default)]
struct Printing {
    depth: usize,
    seen: HashSet<usize>,
}

#[derive(Default)]
struct Comparison {
    seen: HashSet<(usize, usize)>,
    /// Pairs that were reached and are still to be compared.
    pending: Vec<(Held, Held)>,
}

thread_local! {
    static PRINTING: RefCell<Printing> = RefCell::default();
    static COMPARISON: RefCell<Option<Comparison>> = const { RefCell::new(None) };
}

/// Prints an instance. Prints only its type if it has been printed already or is too deep.
pub(super) fn print(held: &Held, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let value = &*held.instance().value;
    let (depth, is_new) = PRINTING.with_borrow_mut(|printing| {
        let is_deep = printing.depth >= GRAPH_DEPTH_MAX;
        let is_new = !is_deep && printing.seen.insert(held.address());
        (printing.depth, is_new)
    });
    match (is_new, depth < GRAPH_DEPTH_MAX) {
        (true, _) => {
            let _level = PrintedLevel::enter();
            fmt::Debug::fmt(value, f)
        }
        (false, true) => write!(f, "(again {})", value.class_type_id()),
        (false, false) => write!(f, "(deeper {})", value.class_type_id()),
    }
}

/// An instance that is being printed.
struct PrintedLevel;

impl PrintedLevel {
    fn enter() -> Self {
        PRINTING.with_borrow_mut(|printing| printing.depth += 1);
        Self
    }
}

impl Drop for PrintedLevel {
    fn drop(&mut self) {
        PRINTING.with_borrow_mut(|printing| {
            printing.depth -= 1;
            if printing.depth == 0 {
                printing.seen.clear();
            }
        });
    }
}

/// Returns true if two instances, and everything reachable from them, are equal.
///
/// The outermost call compares pair by pair. A link that it reaches adds its pair and counts as equal, so depth takes
/// no stack. Two graphs are equal if no pair differs.
pub(super) fn equal(one: &Held, other: &Held) -> bool {
    let pair = (one.address(), other.address());
    if pair.0 == pair.1 {
        return true;
    }
    let is_outermost = COMPARISON.with_borrow_mut(|comparison| {
        let is_outermost = comparison.is_none();
        let comparison = comparison.get_or_insert_default();
        if comparison.seen.insert(pair) {
            comparison.pending.push((one.clone(), other.clone()));
        }
        is_outermost
    });
    if !is_outermost {
        return true;
    }
    let _comparison = RunningComparison;
    while let Some((one, other)) = next_pair() {
        let (one, other) = (one.instance(), other.instance());
        if !one.value.equals(&*other.value) || one.unknown != other.unknown {
            return false;
        }
    }
    true
}

fn next_pair() -> Option<(Held, Held)> {
    COMPARISON.with_borrow_mut(|comparison| comparison.as_mut()?.pending.pop())
}

/// The outermost comparison of this thread.
struct RunningComparison;

impl Drop for RunningComparison {
    fn drop(&mut self) {
        // Dropped outside of the borrow, because the destructors of values may compare, too.
        let comparison = COMPARISON.take();
        drop(comparison);
    }
}
