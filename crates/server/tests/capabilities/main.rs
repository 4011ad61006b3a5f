//! The capabilities of a server: in a program, over HTTP and in a browser.

mod browser;
mod console;
mod letters;
mod pages;
mod server;
