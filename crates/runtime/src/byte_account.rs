//! An account of the bytes that all connections of a communicator hold for one purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are held now.
#[derive(Debug, Default)]
pub(crate) struct ByteAccount {
    used: AtomicUsize,
}

impl ByteAccount {
    /// Adds this many bytes. Returns how many there are then.
    pub(crate) fn add(&self, len: usize) -> usize {
        self.used.fetch_add(len, Ordering::Relaxed) + len
    }

    /// Takes back bytes that were added.
    pub(crate) fn take_back(&self, len: usize) {
        self.used.fetch_sub(len, Ordering::Relaxed);
    }
}

/// The bytes that one holder has added to an account. Dropping it takes everything back.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    account: Arc<ByteAccount>,
    len: usize,
}

impl HeldBytes {
    /// Fewer bytes than this are not counted, because other limits bound the number of holders.
    pub(crate) const COUNTED_MIN: usize = 16 * 1024;

    pub(crate) fn none(account: Arc<ByteAccount>) -> Self {
        Self { account, len: 0 }
    }

    /// Returns true if anything is counted.
    pub(crate) fn is_none(&self) -> bool {
        self.len == 0
    }

    /// Notes that `len` bytes are held now. Returns how many all holders have, if this one has more than before.
    pub(crate) fn set(&mut self, len: usize) -> Option<usize> {
        let len = if len < Self::COUNTED_MIN { 0 } else { len };
        let before = std::mem::replace(&mut self.len, len);
        if len > before {
            return Some(self.account.add(len - before));
        }
        self.account.take_back(before - len);
        None
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.account.take_back(self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_what_its_holders_have() {
        let account = Arc::<ByteAccount>::default();
        let mut first = HeldBytes::none(account.clone());
        let mut second = HeldBytes::none(account.clone());
        assert_eq!(first.set(20_000), Some(20_000));
        assert_eq!(second.set(30_000), Some(50_000));
        assert_eq!(second.set(100), None);
        assert!(second.is_none());
        assert_eq!(first.set(21_000), Some(21_000));
        drop(first);
        assert_eq!(second.set(HeldBytes::COUNTED_MIN), Some(16 * 1024));
    }
}
