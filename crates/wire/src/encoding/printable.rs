//! Text of a peer in errors.

use std::fmt::{self, Write};

/// Text of a peer, with an escape for each control character: these must reach no terminal, and begin no line of a log.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c.is_control() {
                true => write!(f, "{}", c.escape_debug())?,
                false => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
