//! Random numbers from a seed: the same ones in every run with it.

/// A small generator (xorshift).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Different seeds give different numbers, however close they are.
    pub(super) fn new(seed: u64) -> Self {
        let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self((mixed ^ (mixed >> 29)).max(1))
    }

    /// A number below `limit`, which is above 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % limit as u64) as usize
    }

    /// Returns true once in so many times.
    pub(super) fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of these; there must be one.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
