//! The things that a hub keeps on disk: after a kill of the hub or its subscriber, on a full or damaged disk, and with a
//! long log.

mod backlog;
mod damage;
mod exactly_once;
#[cfg(target_os = "linux")]
mod full_disk;
mod killed_changes;
mod killed_events;
