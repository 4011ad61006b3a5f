//! What a user can do with the `floe` command, run as a process.

mod command;
mod slice;
mod usage;
