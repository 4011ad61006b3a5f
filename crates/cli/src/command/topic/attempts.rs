//! Several attempts that one command makes, of which some may fail.

use crate::exit::{Exit, Failure};

/// The failures of several attempts, one after another. The last one ends the command; each of the others is reported when
/// the next one comes.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    failure: Option<Failure>,
}

impl Attempts {
    /// Notes an attempt. Returns its result; none if it failed.
    ///
    /// # Errors
    /// The failure, if it would meet the others too: there is no hub.
    pub(super) fn note<T>(&mut self, result: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(failure) if failure.is_of_connection() || failure.exit() == Exit::Usage => {
                Err(failure)
            }
            Err(failure) => {
                if let Some(before) = self.failure.replace(failure) {
                    before.report();
                }
                Ok(None)
            }
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }
}
