//! Bytes recorded from Ice 3.7.8, read and written by contracts that are compiled here.

mod file;
mod messages;
mod notation;
mod payloads;
mod plain;
mod values;
