//! Samples: a reader and a writer of CDR, along layouts of a contract, and the payload of a whole event.
//!
//! - [`format`]: the two versions of CDR, and what can be wrong
//! - `reader`: values from CDR; `writer`: values into CDR
//! - `sample`: an event of a topic as one sample, and back
//!
//! Source: DDS-XTypes 1.3, 7.4.3 (XCDR1 and XCDR2); DDSI-RTPS 2.5, 10 (the header in front).

mod format;
mod reader;
mod sample;
#[cfg(test)]
mod tests;
mod writer;

pub use format::{CdrError, CdrVersion};
pub use reader::CdrReader;
pub use sample::{EventCodec, SampleError};
pub use writer::CdrWriter;
