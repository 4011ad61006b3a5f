//! The lines of an audit log: one for each refusal, and no more of them than a disk can take.

use crate::refusal::Refusal;

/// Says which lines to write. Any peer that reaches a hub or a gateway can make it refuse, so the lines of a second
/// have a limit. Those beyond it are counted.
#[derive(Debug, Default)]
pub struct AuditLines {
    /// The second, since 1970, in which lines are counted.
    second: u64,
    lines: u64,
    omitted: u64,
}

/// The largest number of refusals that are written within a second.
pub const AUDIT_LINES_MAX: u64 = 100;

impl AuditLines {
    /// The lines to write for a refusal at this time, in milliseconds since 1970: mostly one, and none if too many were
    /// written in this second.
    pub fn of(&mut self, refusal: &Refusal, unix_ms: u64) -> Vec<String> {
        let mut lines = Vec::new();
        let second = unix_ms / 1000;
        if second != self.second {
            let omitted = std::mem::take(&mut self.omitted);
            if omitted > 0 {
                lines.push(format!(
                    r#"{{"unix_ms":{unix_ms},"event":"omitted","count":{omitted}}}"#
                ));
            }
            (self.second, self.lines) = (second, 0);
        }
        match self.lines < AUDIT_LINES_MAX {
            true => {
                self.lines += 1;
                lines.push(refusal.to_json(unix_ms));
            }
            false => self.omitted += 1,
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Caller, Place, Reason, TokenError};

    #[test]
    fn a_flood_of_refusals_is_counted_and_not_written() {
        let caller = Caller::anonymous(Place::Unknown);
        let expired = Reason::Token(TokenError::Expired);
        let refusal = Refusal::of(&caller, Action::Publish, "x", expired);
        let mut lines = AuditLines::default();
        let of_second: Vec<_> = (0..AUDIT_LINES_MAX + 7)
            .flat_map(|at| lines.of(&refusal, 1000 + at))
            .collect();
        assert_eq!(of_second.len() as u64, AUDIT_LINES_MAX);
        let next = lines.of(&refusal, 2000);
        assert_eq!(next[0], r#"{"unix_ms":2000,"event":"omitted","count":7}"#);
        assert_eq!(next.len(), 2);
        assert_eq!(lines.of(&refusal, 3000).len(), 1);
    }
}
