//! What a thread keeps for the next connection that needs it.
//!
//! A connection needs buffers while it reads and dispatches, and none while it waits. Kept by the connection,
//! they would be most of what ten thousand idle ones take; kept by the threads, there are a few.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Things that nobody uses, kept for their allocations.
pub(super) type Spare<T> = RefCell<Vec<T>>;

/// As many as a thread keeps: a connection that has to wait in the middle leaves its thread without.
const SPARE_MAX: usize = 4;

/// One of those that this thread keeps, if there is one.
pub(super) fn take<T>(spare: &'static LocalKey<Spare<T>>) -> Option<T> {
    // A thread that ends has none any more.
    spare.try_with(|spare| spare.borrow_mut().pop()).ok()?
}

/// Keeps one, unless there are enough.
pub(super) fn put_back<T>(spare: &'static LocalKey<Spare<T>>, one: T) {
    // Dropped outside: what it drops may come here, too.
    let mut one = Some(one);
    let _ = spare.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.extend(one.take());
        }
    });
}

/// Keeps one in the place of all others.
pub(super) fn put_back_last<T>(spare: &'static LocalKey<Spare<T>>, one: T) {
    let mut one = Some(one);
    // Dropped outside, as above.
    let _others = spare.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        let last = spare.pop();
        spare.extend(one.take());
        last
    });
}
