//! Synchronization primitives, which files name as `crate::sync`.
//!
//! `tests/schedules/` compiles those files again with primitives of its own, which try one order of
//! events after another. Such a file must not use a primitive of the standard library that can
//! wait.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread;
