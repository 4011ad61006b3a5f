//! Inputs made from others by small damages, the same ones for the same seed.

/// Values that lengths and counts are often wrong by.
const NUMBERS: [i32; 12] = [-1, 0, 1, 2, 7, 13, 14, 254, 255, 256, i32::MAX, i32::MIN];
/// The most damages of one input.
const DAMAGES_MAX: usize = 6;
/// The length at which an input grows no more.
const LEN_MAX: usize = 64 * 1024;

/// Makes inputs.
#[derive(Debug)]
pub struct Mutator<'a> {
    originals: &'a [Vec<u8>],
    state: u64,
    input: Vec<u8>,
}

impl<'a> Mutator<'a> {
    /// # Panics
    /// If there is no original.
    #[must_use]
    pub fn new(originals: &'a [Vec<u8>], seed: u64) -> Self {
        assert!(!originals.is_empty(), "expected originals to damage");
        Self {
            originals,
            // Seeds that are close to each other give different numbers.
            state: (seed ^ 0x9E37_79B9_7F4A_7C15)
                .wrapping_mul(0xBF58_476D_1CE4_E5B9)
                .max(1),
            input: Vec::new(),
        }
    }

    /// Makes the next input: an original with some damages.
    pub fn next_input(&mut self) -> &[u8] {
        let original = self.below(self.originals.len());
        self.input.clear();
        self.input.extend_from_slice(&self.originals[original]);
        for _ in 0..=self.below(DAMAGES_MAX) {
            self.damage();
        }
        &self.input
    }

    /// A number below `limit`, which is above 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let drawn = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((drawn >> 32) % limit as u64) as usize
    }

    fn damage(&mut self) {
        if self.input.is_empty() {
            let byte = self.below(256) as u8;
            return self.input.push(byte);
        }
        let len = self.input.len();
        let place = self.below(len);
        match self.below(8) {
            0 => self.input[place] ^= 1 << self.below(8),
            1 => self.input[place] = self.below(256) as u8,
            2 => self.overwrite_number(place),
            3 => self.input.truncate(place),
            4 => {
                let end = place + self.below(16.min(len - place)) + 1;
                self.input.drain(place..end);
            }
            5 => self.insert_copy(place),
            6 => self.splice(place),
            _ => {
                let number = self.below(NUMBERS.len());
                self.input[place] = NUMBERS[number] as u8;
            }
        }
    }

    /// Puts a number in the place of four bytes: one that is often wrong, or about the length of the input.
    fn overwrite_number(&mut self, place: usize) {
        let len = self.input.len();
        let chosen = self.below(NUMBERS.len() + 4);
        let number = match NUMBERS.get(chosen) {
            Some(number) => *number,
            None => (len as i32).wrapping_add(self.below(5) as i32 - 2),
        };
        let bytes = number.to_le_bytes();
        let end = (place + bytes.len()).min(len);
        self.input[place..end].copy_from_slice(&bytes[..end - place]);
    }

    /// Inserts a copy of some of its bytes.
    fn insert_copy(&mut self, place: usize) {
        let len = self.input.len();
        if len >= LEN_MAX {
            return;
        }
        let start = self.below(len);
        let end = start + self.below((len - start).min(256)) + 1;
        let copied = self.input[start..end.min(len)].to_vec();
        self.input.splice(place..place, copied);
    }

    /// Continues with the end of another original.
    fn splice(&mut self, place: usize) {
        let other = self.below(self.originals.len());
        let other = &self.originals[other];
        if other.is_empty() {
            return;
        }
        let start = self.below(other.len());
        self.input.truncate(place);
        self.input.extend_from_slice(&other[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_they_are_damaged() {
        let originals = [vec![1; 40], vec![2; 10], Vec::new()];
        let made = |seed| {
            let mut mutator = Mutator::new(&originals, seed);
            let inputs = (0..1_000).map(|_| mutator.next_input().to_vec());
            inputs.collect::<Vec<_>>()
        };
        let inputs = made(1);
        assert_eq!(inputs, made(1));
        assert_ne!(inputs, made(2));
        let undamaged = inputs.iter().filter(|input| originals.contains(input));
        assert!(undamaged.count() < 100);
        assert!(inputs.iter().all(|input| input.len() <= LEN_MAX + 256));
    }
}
