//! The right to add events to the window. The delivery task and the scheduler hold it alternately.

/// The right to send the events of a subscriber. One holder at a time sends:
///
/// ```text
///          open                begin
/// Task ----------> Scheduler ----------------> Sending
///   ^    close       |   ^          end           | revoked
///   +----------------+   +------------------------+----------> Revoked
///   ^            give_back, or end of a revoked one               |
///   +-------------------------------------------------------------+
/// ```
#[derive(Debug, Default)]
pub(super) struct SendRight {
    holder: RightHolder,
    /// True if the delivery task waits for the scheduler to finish sending.
    is_awaited: bool,
}

/// The holder of the right to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RightHolder {
    /// The delivery task of the subscriber.
    #[default]
    Task,
    /// The scheduler, until the delivery task is polled.
    Scheduler,
    /// The scheduler, which is sending now.
    Sending,
    /// The scheduler, which is sending, although the window was abandoned meanwhile.
    Revoked,
}

impl SendRight {
    /// Returns true if the scheduler may send, or is sending.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.holder, RightHolder::Scheduler | RightHolder::Sending)
    }

    /// Lets the scheduler send until [`SendRight::close`].
    pub(super) fn open(&mut self) {
        if self.holder == RightHolder::Task {
            self.holder = RightHolder::Scheduler;
        }
    }

    /// Takes the right back for the delivery task. Returns false if the scheduler is sending; the task then waits for
    /// its end.
    pub(super) fn close(&mut self) -> bool {
        self.is_awaited = matches!(self.holder, RightHolder::Sending | RightHolder::Revoked);
        if !self.is_awaited {
            self.holder = RightHolder::Task;
        }
        !self.is_awaited
    }

    /// The scheduler begins to send. Returns false if it may not.
    pub(super) fn begin(&mut self) -> bool {
        let may_send = self.holder == RightHolder::Scheduler;
        if may_send {
            self.holder = RightHolder::Sending;
        }
        may_send
    }

    /// The scheduler has sent its events. Returns false if the window was abandoned meanwhile.
    pub(super) fn end(&mut self) -> bool {
        match self.holder {
            RightHolder::Sending => self.holder = RightHolder::Scheduler,
            RightHolder::Revoked => {
                self.holder = RightHolder::Task;
                return false;
            }
            RightHolder::Task | RightHolder::Scheduler => {}
        }
        true
    }

    /// The scheduler could not send, and the delivery task has the right again. Returns false if the window was abandoned
    /// meanwhile.
    pub(super) fn give_back(&mut self) -> bool {
        std::mem::take(&mut self.holder) != RightHolder::Revoked
    }

    /// The right after the window was abandoned. A scheduler that is sending has lost it.
    pub(super) fn revoked(&self) -> Self {
        let holder = match self.holder {
            RightHolder::Sending | RightHolder::Revoked => RightHolder::Revoked,
            RightHolder::Task | RightHolder::Scheduler => RightHolder::Task,
        };
        Self {
            holder,
            is_awaited: false,
        }
    }

    /// Gives the right to the delivery task after the scheduler has panicked. Returns true if it was sending.
    pub(super) fn reset(&mut self) -> bool {
        std::mem::take(&mut self.holder) == RightHolder::Sending
    }

    /// Returns true once if the delivery task waits for the scheduler, which has finished now.
    pub(super) fn poll_awaited(&mut self) -> bool {
        std::mem::take(&mut self.is_awaited)
    }
}
