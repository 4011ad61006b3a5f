//! What threads meet with: the primitives that files name as `crate::sync`.
//!
//! `tests/schedules/` compiles those files once more, with primitives of its own that try one order
//! of events after another. Such a file names nothing of the standard library's that can wait.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread;
