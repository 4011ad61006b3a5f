//! A buffer pool for each thread.
//!
//! A connection needs buffers only while it reads and dispatches. If each connection kept its own, ten thousand idle
//! connections would spend most of their memory on buffers. Each thread keeps a few instead, and lends them to the
//! connection that it reads. Pending replies are pooled for their allocations in the same way.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Unused buffers, kept for their allocations.
pub(super) type BufferPool<T> = RefCell<Vec<T>>;

/// Takes a buffer from the pool of this thread, if there is one.
#[inline]
pub(super) fn take<T>(pool: &'static LocalKey<BufferPool<T>>) -> Option<T> {
    // The pool is gone while its thread ends.
    pool.try_with(|pool| pool.borrow_mut().pop()).ok()?
}

/// Puts a buffer back, unless the pool already holds `count_max` of them.
#[inline]
pub(super) fn put_back<T>(pool: &'static LocalKey<BufferPool<T>>, count_max: usize, buffer: T) {
    // A buffer too many is dropped outside of the closure, because its drop may use this pool.
    let _full = pool.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() >= count_max {
            return Some(buffer);
        }
        pool.push(buffer);
        None
    });
}
