//! The broker for SOAP programs: what a program says to it over HTTP, and what it gets.
#![cfg(feature = "soap")]

mod fixture;
mod hostile;
mod publishing;
mod pulling;
mod pushing;
