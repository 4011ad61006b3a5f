//! The thread behind the blocking face: it connects, accepts, looks names up, keeps time, watches
//! connections that nobody uses, and finishes dispatches that have to wait. Calls do without it.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle};

/// The runtime of that thread, which starts with the first use and lives as long as the program.
/// Everything in it belongs to a communicator, whose shutdown ends it.
///
/// # Panics
/// If the system refuses a thread or an event queue: then there is no network either.
pub(crate) fn handle() -> &'static Handle {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    HANDLE.get_or_init(start)
}

fn start() -> Handle {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system has an event queue to give");
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("floe-background".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))
        .expect("the system has a thread to give");
    handle
}
