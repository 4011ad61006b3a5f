//! What a program can do with a server of its own, and what a browser sees of it.

mod browser;
mod console;
mod pages;
mod server;
