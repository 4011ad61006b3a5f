//! Helpers shared by the tests that span crates.
