//! The audit: what clients were promised, held against what servers executed.

use std::collections::{BTreeMap, HashMap};

use super::report::Report;
use crate::id::{CallId, Kind};
use crate::journal::Note;

/// Of the notes of a member these last ones may lack what a kill kept it from: a call back is noted by
/// another thread than its call.
const LAST_NOTES: usize = 100;

/// The notes of all members.
#[derive(Debug, Default)]
pub(super) struct Audit {
    calls: HashMap<CallId, Call>,
    panic_count: usize,
}

/// The facts about a call.
#[derive(Debug, Default, Clone, Copy)]
struct Call {
    executed_count: u16,
    called_back_count: u16,
    end: Option<Note>,
    is_overdue: bool,
    /// True if its client had time to note all that belongs to it.
    is_settled: bool,
}

/// Calls of a kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) executed: u64,
    pub(super) promised: u64,
    pub(super) denied: u64,
    pub(super) unknown: u64,
}

impl Audit {
    /// Adds all that a member noted.
    pub(super) fn add_journal(&mut self, notes: &[(CallId, Note)]) {
        let settled_len = notes.len().saturating_sub(LAST_NOTES);
        for (at, (id, note)) in notes.iter().enumerate() {
            self.add(*id, *note, at < settled_len);
        }
    }

    fn add(&mut self, id: CallId, note: Note, is_settled: bool) {
        if note == Note::Panicked {
            self.panic_count += 1;
            return;
        }
        let call = self.calls.entry(id).or_default();
        call.is_settled |= is_settled && note == Note::Promised;
        match note {
            Note::Executed => call.executed_count += 1,
            Note::CalledBack => call.called_back_count += 1,
            Note::Overdue => call.is_overdue = true,
            end => call.end = Some(end),
        }
    }

    /// Reports what was promised and not kept, and the sums.
    pub(super) fn close(&self, report: &mut Report) {
        if self.panic_count > 0 {
            report.finding(format!("members panicked {} times", self.panic_count));
        }
        let mut sums: BTreeMap<Kind, Sums> = BTreeMap::new();
        for (id, call) in &self.calls {
            let Some(kind) = id.kind() else {
                report.finding(format!("a call that no client made: {:#x}", id.0));
                continue;
            };
            call.count(sums.entry(kind).or_default());
            for problem in call.problems(kind) {
                report.finding(format!("{} {:#x}: {problem}", kind.name(), id.0));
            }
        }
        report.calls(sums);
    }
}

impl Call {
    fn count(&self, sums: &mut Sums) {
        sums.executed += u64::from(self.executed_count);
        match self.end {
            Some(Note::Promised) => sums.promised += 1,
            Some(Note::Denied) => sums.denied += 1,
            _ => sums.unknown += 1,
        }
    }

    fn problems(&self, kind: Kind) -> impl Iterator<Item = &'static str> {
        let executed = self.executed_count;
        let problems = [
            (
                self.end == Some(Note::Promised) && executed == 0,
                "answered and never executed",
            ),
            (
                !kind.may_repeat() && executed > 1,
                "executed more than once",
            ),
            (
                self.end == Some(Note::Denied) && executed > 0,
                "said not to be executed, and executed",
            ),
            (
                kind == Kind::CallBack && self.is_settled && self.called_back_count == 0,
                "answered and never called back",
            ),
            (self.called_back_count > 1, "called back more than once"),
            (self.end == Some(Note::Odd), "answered wrongly; see the log"),
            (self.is_overdue, "not ended in time"),
        ];
        problems
            .into_iter()
            .filter_map(|(is_so, problem)| is_so.then_some(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(kind: Kind, notes: &[Note]) -> usize {
        let mut audit = Audit::default();
        for note in notes {
            audit.add(CallId::new(1, kind, 1), *note, true);
        }
        let mut report = Report::new(1, 1);
        audit.close(&mut report);
        report.finding_count()
    }

    #[test]
    fn a_call_that_was_answered_and_executed_once_is_in_order() {
        assert_eq!(findings(Kind::Once, &[Note::Executed, Note::Promised]), 0);
        assert_eq!(
            findings(
                Kind::Again,
                &[Note::Executed, Note::Executed, Note::Promised]
            ),
            0
        );
        assert_eq!(findings(Kind::Once, &[Note::Unknown]), 0);
        assert_eq!(findings(Kind::Once, &[Note::Executed, Note::Unknown]), 0);
        assert_eq!(
            findings(Kind::Once, &[Note::Executed]),
            0,
            "its client was killed"
        );
    }

    #[test]
    fn a_promise_that_was_not_kept_is_found() {
        assert_eq!(findings(Kind::Once, &[Note::Promised]), 1);
        assert_eq!(findings(Kind::Again, &[Note::Promised]), 1);
        assert_eq!(findings(Kind::Oneway, &[Note::Promised]), 1);
    }

    #[test]
    fn a_call_that_was_executed_twice_is_found_however_it_ended() {
        let twice = [Note::Executed, Note::Executed];
        assert_eq!(findings(Kind::Once, &twice), 1);
        assert_eq!(
            findings(Kind::Batch, &[&twice[..], &[Note::Unknown]].concat()),
            1
        );
        assert_eq!(
            findings(Kind::Datagram, &[&twice[..], &[Note::Promised]].concat()),
            1
        );
    }

    #[test]
    fn what_was_said_not_to_be_executed_must_not_be() {
        assert_eq!(findings(Kind::Once, &[Note::Denied]), 0);
        assert_eq!(findings(Kind::Again, &[Note::Denied, Note::Executed]), 1);
    }

    #[test]
    fn what_ends_late_or_oddly_is_found() {
        assert_eq!(findings(Kind::Once, &[Note::Overdue]), 1);
        assert_eq!(findings(Kind::Once, &[Note::Odd]), 1);
        let twice = [Note::CalledBack, Note::CalledBack, Note::Executed];
        assert_eq!(findings(Kind::CallBack, &twice), 1);
        assert_eq!(findings(Kind::Once, &[Note::Panicked]), 1);
    }

    #[test]
    fn a_call_back_that_did_not_come_is_found_unless_its_client_ended_just_then() {
        assert_eq!(
            findings(Kind::CallBack, &[Note::Executed, Note::Promised]),
            1
        );
        let whole = [Note::Executed, Note::CalledBack, Note::Promised];
        assert_eq!(findings(Kind::CallBack, &whole), 0);

        let id = CallId::new(1, Kind::CallBack, 1);
        let mut audit = Audit::default();
        audit.add_journal(&[(id, Note::Executed)]);
        audit.add_journal(&[(id, Note::Promised)]);
        let mut report = Report::new(1, 1);
        audit.close(&mut report);
        assert_eq!(report.finding_count(), 0);
    }
}
