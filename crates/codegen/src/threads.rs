//! Runs one function for many items, on all processors. The results do not depend on how many
//! there are.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the result of `work` for each item, in no order.
///
/// # Panics
/// If `work` does.
pub(crate) fn for_each<T, R>(items: &[T], work: impl Fn(T) -> R + Sync) -> Vec<(T, R)>
where
    T: Copy + Send + Sync,
    R: Send,
{
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*item, work(*item)));
        }
        done
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let others = processors.min(items.len() / ITEMS_PER_THREAD).max(1) - 1;
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        for other in others {
            let done = other.join();
            all.extend(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

/// Fewer than these are not worth a thread.
const ITEMS_PER_THREAD: usize = 50;
