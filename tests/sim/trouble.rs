//! The events of a run, and its faults.

use std::time::Duration;

use floe_wire::connection::AttemptEnd;

use crate::book::{Call, Kind};
use crate::world::{Action, World};

/// A connection that is begun at once is there by then, unless something goes wrong.
const CONNECTED_BY: Duration = Duration::from_secs(1);

impl World {
    /// Puts everything that will happen on the agenda.
    pub(crate) fn schedule(&mut self) {
        for _ in 0..self.plan.call_count {
            self.schedule_call();
        }
        for side in 0..2 {
            self.at(self.plan.manners[side].tick(), Action::Look(side));
            for _ in 0..self.plan.closes[side] {
                self.schedule_trouble(Action::Close(side));
            }
        }
        if self.plan.closes_together {
            self.schedule_crossing();
        }
        let troubles = [
            (Action::Cut, self.plan.cut_count),
            (Action::Silence, self.plan.silence_count),
            (Action::Stall, self.plan.stall_count),
            (Action::Jump, self.plan.jump_count),
        ];
        for (trouble, count) in troubles {
            (0..count).for_each(|_| self.schedule_trouble(trouble));
        }
        for _ in 0..self.plan.abort_count {
            let side = self.random.up_to(1);
            self.schedule_trouble(Action::Abort(side));
        }
    }

    /// Both sides close, and call just before and after, so that requests, replies and closes cross.
    fn schedule_crossing(&mut self) {
        let delay = self.plan.weather.delay_max;
        let time = self.random.time(self.plan.begin_within) + CONNECTED_BY;
        // Somebody must have connected.
        self.schedule_call_at(0, Kind::Twoway, Duration::ZERO);
        for side in 0..2 {
            let wait = self.random.time(delay);
            self.at(time + wait, Action::Close(side));
            for _ in 0..self.random.up_to(3) {
                let begins = time + self.random.time(2 * delay);
                self.schedule_call_at(side, Kind::Twoway, begins.saturating_sub(delay));
            }
        }
    }

    fn schedule_call(&mut self) {
        let side = usize::from(self.random.percent(self.plan.callback_percent));
        let kind = match self.random.up_to(5) {
            0 => Kind::Oneway,
            1 => Kind::Batch(self.random.between(1, 4)),
            _ => Kind::Twoway,
        };
        let begins = self.random.time(self.plan.begin_within);
        self.schedule_call_at(side, kind, begins);
    }

    fn schedule_call_at(&mut self, side: usize, kind: Kind, begins: Duration) {
        let is_idempotent = self.random.percent(30);
        let mut call = Call::new(side, kind, is_idempotent, self.plan.retry_intervals);
        call.parameters_len = self.random.up_to(self.plan.parameters_max);
        let deadline = begins + self.random.time(Duration::from_secs(3));
        call.deadline = self
            .random
            .percent(self.plan.deadline_percent)
            .then_some(deadline);
        let number = self.book.add(call);
        self.at(begins, Action::Attempt(number));
        if let Some(deadline) = self.book.calls[number].deadline {
            self.at(deadline, Action::Deadline(number));
        }
    }

    /// A little after the last calls, too.
    fn schedule_trouble(&mut self, trouble: Action) {
        let within = self.plan.begin_within + self.random.time(Duration::from_secs(1));
        let time = self.random.time(within);
        self.at(time, trouble);
    }

    /// Something goes wrong with a connection that is open.
    pub(crate) fn trouble(&mut self, trouble: Action) {
        if let Action::Jump = trouble {
            self.now += self.random.time(Duration::from_secs(50 * 3600));
            return;
        }
        let is_open = |joint: &usize| {
            self.joints[*joint]
                .ends
                .iter()
                .all(|end| end.ended.is_none())
        };
        let Some(joint) = (0..self.joints.len()).rev().find(is_open) else {
            return;
        };
        let side = self.random.up_to(1);
        match trouble {
            Action::Cut => {
                let more = self.random.up_to(400) as u64;
                self.joints[joint].pipes[side].cut(more);
            }
            Action::Silence => {
                for pipe in &mut self.joints[joint].pipes {
                    pipe.is_silent = true;
                }
                self.give_up_later(joint);
            }
            Action::Stall => {
                let until = self.now + self.random.time(Duration::from_secs(90));
                self.joints[joint].pipes[side].stall(until);
                self.at(until, Action::Arrive(joint, 1 - side));
            }
            Action::Abort(side) => self.fail(joint, side, AttemptEnd::Final),
            _ => unreachable!("not a trouble: {trouble:?}"),
        }
    }
}
