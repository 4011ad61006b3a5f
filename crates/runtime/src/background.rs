//! The background thread of blocking programs. It connects, accepts, resolves names, keeps time,
//! watches idle connections, and finishes dispatches that have to wait. Calls do not use it.

use std::cell::Cell;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// The runtime of that thread. It starts on first use and lives as long as the program. Every task
/// in it belongs to a communicator, whose shutdown ends it.
///
/// # Panics
/// If the system refuses a thread or an event queue: without them there is no network either.
pub(crate) fn handle() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(start).handle()
}

/// Blocks this thread. If this is the background thread, another one takes over meanwhile, because
/// the servant that blocks here may wait for work that the background has to do.
pub(crate) fn block<T>(blocking: impl FnOnce() -> T) -> T {
    match IS_BACKGROUND.get() {
        true => tokio::task::block_in_place(blocking),
        false => blocking(),
    }
}

fn start() -> Runtime {
    // A multi-threaded runtime, though with one thread: only such a runtime replaces a thread that
    // blocks.
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("floe-background")
        .on_thread_start(|| IS_BACKGROUND.set(true))
        .enable_all()
        .build()
        .expect("the system has a thread and an event queue to give")
}
