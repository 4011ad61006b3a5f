//! Capabilities of several crates together, a file for each.

#![deny(warnings)]

mod clashes;
mod classes;
mod composing;
mod compression_sizes;
mod echo;
mod generated;
mod nil;
mod views;

/// A contract that uses everything, as a user's crate has it: below a private module of a program.
mod contract {
    floe::include_contract!("Everything");
    floe::include_contract!("Clashes");
    floe::include_contract!("Classes");
    floe::include_contract!("Extra");
    floe::include_contract!("Views");
    floe::include_contract!("Nil");
    floe::include_contract!("Composing");
}
