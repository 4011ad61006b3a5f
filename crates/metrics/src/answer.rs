//! Limits the length of an answer, and lets other tasks run while it is made.

use floe::{Current, InvokeError, SystemException};

/// The length of an answer while it is made.
pub(crate) struct Answer {
    count: usize,
    len: usize,
    len_max: usize,
}

impl Answer {
    /// An answer to this request. It must fit into one message.
    pub(crate) fn new(current: &Current) -> Self {
        let communicator = current.adapter().communicator().clone();
        let len_max = communicator.settings().message_size_max;
        Self::of(len_max.saturating_sub(OVERHEAD))
    }

    fn of(len_max: usize) -> Self {
        Self {
            count: 0,
            len: 0,
            len_max,
        }
    }

    /// Counts a metrics object with an id of this length.
    ///
    /// # Errors
    /// The answer would be longer than a message may be.
    pub(crate) fn add(&mut self, id_len: usize) -> Result<(), InvokeError> {
        let len = self.len + id_len + FIELDS_LEN;
        if len > self.len_max {
            return Err(self.too_long());
        }
        (self.count, self.len) = (self.count + 1, len);
        Ok(())
    }

    fn too_long(&self) -> InvokeError {
        let Self { count, len_max, .. } = self;
        SystemException::UnknownException(format!(
            "expected groups of metrics that fit into a message of {len_max} bytes, got more than {count}: use a view that \
             groups by fewer ids (GroupBy), or raise the limit of the server (connections.message-bytes, Ice.MessageSizeMax) \
             and of the client"
        ))
        .into()
    }
}

/// Header of a reply, and what surrounds its metrics objects.
const OVERHEAD: usize = 1_024;
/// The bytes of a metrics object beside its id, at least: five counts of the object, and two of its kind.
const FIELDS_LEN: usize = 8 + 4 + 8 + 4 + 8 + 8;

/// Counts what a task has looked at, and lets other tasks run when it is much.
#[derive(Default)]
pub(crate) struct Pace {
    looked_at: usize,
}

/// Groups that are looked at in one step, and counts of objects in groups.
pub(crate) const STEP: usize = 128;
/// Looks after which other tasks run.
const LOOKED_AT_MAX: usize = 32 * STEP;

impl Pace {
    /// Counts that this many were looked at. Lets other tasks run if it is time.
    pub(crate) async fn pause(&mut self, count: usize) {
        self.looked_at += count;
        if self.looked_at >= LOOKED_AT_MAX {
            self.looked_at = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_too_long_is_refused_with_the_number_that_fits() {
        let mut answer = Answer::of(2 * (FIELDS_LEN + 10));
        answer.add(10).unwrap();
        answer.add(10).unwrap();
        let error = answer.add(0).unwrap_err().to_string();
        assert!(error.contains("got more than 2: use a view"), "{error}");
    }
}
