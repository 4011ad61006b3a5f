//! Buffers that a thread keeps for the next connection that needs them.
//!
//! A connection needs buffers while it reads and dispatches, and none while it waits. Kept by the connection,
//! they would be most of what ten thousand idle ones take; kept by the threads, there are a few.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Buffers that are not in use, kept for their allocations.
pub(super) type BufferPool<T> = RefCell<Vec<T>>;

/// As many as a thread keeps: a connection that has to wait in the middle leaves its thread without.
const POOL_MAX: usize = 4;

/// One of those that this thread keeps, if there is one.
pub(super) fn take<T>(pool: &'static LocalKey<BufferPool<T>>) -> Option<T> {
    // A thread that ends has no pool any more.
    pool.try_with(|pool| pool.borrow_mut().pop()).ok()?
}

/// Keeps one, unless there are enough.
pub(super) fn put_back<T>(pool: &'static LocalKey<BufferPool<T>>, one: T) {
    // Dropped outside: its drop may come here, too.
    let mut one = Some(one);
    let _ = pool.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < POOL_MAX {
            pool.extend(one.take());
        }
    });
}

/// Keeps one in the place of all others.
pub(super) fn put_back_last<T>(pool: &'static LocalKey<BufferPool<T>>, one: T) {
    let mut one = Some(one);
    // Dropped outside, as above.
    let _others = pool.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        let last = pool.pop();
        pool.extend(one.take());
        last
    });
}
