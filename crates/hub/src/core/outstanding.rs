//! The events that are being sent, or are in flight.

/// How many events are outstanding, and roughly their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outstanding {
    pub(super) count: u64,
    /// A reply does not say which events were answered, so each event counts with the average length of all.
    pub(super) bytes: u64,
}

impl Outstanding {
    pub(super) fn add(&mut self, count: u64, bytes: u64) {
        self.count += count;
        self.bytes += bytes;
    }

    /// This many events are outstanding no longer.
    #[inline]
    pub(super) fn settle(&mut self, count: u64) {
        self.bytes = match self.count - count {
            0 => 0,
            left => self.bytes / self.count * left,
        };
        self.count -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_counts_with_the_average_of_all() {
        let mut outstanding = Outstanding::default();
        outstanding.add(2, 100);
        outstanding.add(2, 300);
        outstanding.settle(1);
        assert_eq!((outstanding.count, outstanding.bytes), (3, 300));
        outstanding.settle(3);
        assert_eq!((outstanding.count, outstanding.bytes), (0, 0));
    }
}
