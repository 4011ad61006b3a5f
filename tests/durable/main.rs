//! Tests of what a hub keeps on disk: when the hub or its subscriber is killed, when the disk is full or damaged, and when a log is long.

mod backlog;
mod damage;
mod exactly_once;
#[cfg(target_os = "linux")]
mod full_disk;
mod killed_changes;
mod killed_events;
