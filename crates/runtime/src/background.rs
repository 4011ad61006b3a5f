//! The thread behind the blocking face: it connects, accepts, looks names up, keeps time, watches
//! connections that nobody uses, and finishes dispatches that have to wait. Calls do without it.

use std::cell::Cell;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

thread_local! {
    static IS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// The runtime of that thread, which starts with the first use and lives as long as the program.
/// Everything in it belongs to a communicator, whose shutdown ends it.
///
/// # Panics
/// If the system refuses a thread or an event queue: then there is no network either.
pub(crate) fn handle() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(start).handle()
}

/// Blocks this thread. If it is the one in the background, another one takes its place meanwhile:
/// what a servant there waits for may be for the background to do.
pub(crate) fn block<T>(blocking: impl FnOnce() -> T) -> T {
    match IS_HERE.get() {
        true => tokio::task::block_in_place(blocking),
        false => blocking(),
    }
}

fn start() -> Runtime {
    // Of several threads, though it has one: only such a runtime replaces a thread that blocks.
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("floe-background")
        .on_thread_start(|| IS_HERE.set(true))
        .enable_all()
        .build()
        .expect("the system has a thread and an event queue to give")
}
