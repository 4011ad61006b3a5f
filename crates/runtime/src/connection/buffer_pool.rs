//! A buffer pool for each thread.
//!
//! A connection needs buffers only while it reads and dispatches. If each connection kept its own, ten thousand idle
//! connections would spend most of their memory on buffers. Each thread keeps a few instead, and lends them to the
//! connection that it reads.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Unused buffers, kept for their allocations.
pub(super) type BufferPool<T> = RefCell<Vec<T>>;

/// Most buffers that a thread keeps. A connection that waits in the middle of its work takes its buffer along, so the
/// thread needs a spare.
const POOL_MAX: usize = 4;

/// Takes a buffer from the pool of this thread, if there is one.
pub(super) fn take<T>(pool: &'static LocalKey<BufferPool<T>>) -> Option<T> {
    // The pool is gone while its thread ends.
    pool.try_with(|pool| pool.borrow_mut().pop()).ok()?
}

/// Puts a buffer back, unless the pool is full.
pub(super) fn put_back<T>(pool: &'static LocalKey<BufferPool<T>>, one: T) {
    // The buffer is dropped outside of the closure, because its drop may use this pool.
    let mut one = Some(one);
    let _ = pool.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < POOL_MAX {
            pool.extend(one.take());
        }
    });
}

/// Replaces the last buffer of the pool by this one.
pub(super) fn put_back_last<T>(pool: &'static LocalKey<BufferPool<T>>, one: T) {
    let mut one = Some(one);
    // The old buffer is dropped outside of the closure, as above.
    let _others = pool.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        let last = pool.pop();
        pool.extend(one.take());
        last
    });
}
