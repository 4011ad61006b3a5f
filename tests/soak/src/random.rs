//! Random numbers from a seed: the same ones in every run with it.

/// A small generator (xorshift).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Different seeds give different numbers, however close they are.
    pub(crate) fn new(seed: u64) -> Self {
        let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self((mixed ^ (mixed >> 29)).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, which is above 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 16) % limit as u64) as usize
    }

    /// One of these; there must be one.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_others() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.below(1000))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
