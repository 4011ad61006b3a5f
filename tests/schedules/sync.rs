//! In the place of the runtime's `sync.rs`: the same names, for threads that are scheduled here.

pub(crate) use shuttle::sync::atomic::{AtomicBool, Ordering};
pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(crate) use shuttle::thread;
pub(crate) use std::sync::PoisonError;
