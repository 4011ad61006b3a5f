//! Sets of numbers of samples and fragments: a base, and a bit for each of up to 256 numbers from there.

use crate::codec::{DecodeError, DecodeErrorKind, Decoder, Encoder};
use crate::sequence_number::SequenceNumber;

/// The most numbers that a set speaks of. Source: DDSI-RTPS 2.5, 9.4.2.6.
pub const SET_LEN_MAX: u32 = 256;

/// Numbers of samples, from `base` on.
///
/// ```text
/// 0      8           12
/// | base | len: u32  | words: u32, as many as hold `len` bits
/// ```
///
/// The first number is the highest bit of the first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceNumberSet {
    base: SequenceNumber,
    bits: Bits,
}

impl SequenceNumberSet {
    /// An empty set from `base`.
    pub fn new(base: SequenceNumber) -> Self {
        Self {
            base,
            bits: Bits::default(),
        }
    }

    /// A set that speaks of `base` alone, which is not in it.
    pub fn without_first(base: SequenceNumber) -> Self {
        let mut set = Self::new(base);
        set.bits.len = 1;
        set
    }

    /// The set of these ascending numbers, as far as they are within [`SET_LEN_MAX`] from `base`.
    pub fn of(base: SequenceNumber, numbers: impl IntoIterator<Item = SequenceNumber>) -> Self {
        let mut set = Self::new(base);
        for number in numbers {
            let within = number.0.checked_sub(base.0).map(u32::try_from);
            if !matches!(within, Some(Ok(at)) if set.bits.insert(at)) {
                break;
            }
        }
        set
    }

    /// The first number of which the set speaks.
    pub fn base(&self) -> SequenceNumber {
        self.base
    }

    /// How many numbers the set speaks of.
    pub fn len(&self) -> u32 {
        self.bits.len
    }

    /// Returns true if the set speaks of no number.
    pub fn is_empty(&self) -> bool {
        self.bits.len == 0
    }

    /// The numbers in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = SequenceNumber> {
        let base = self.base.0;
        self.bits
            .iter()
            .map(move |at| SequenceNumber(base + i64::from(at)))
    }

    /// Reads a set whose base is at least `least`.
    pub(crate) fn decode(from: &mut Decoder<'_>, least: i64) -> Result<Self, DecodeError> {
        Ok(Self {
            base: SequenceNumber::decode(from, "sequence number set", least)?,
            bits: Bits::decode(from, "sequence number set")?,
        })
    }

    pub(crate) fn encode(&self, into: &mut Encoder<'_>) {
        self.base.encode(into);
        self.bits.encode(into);
    }
}

/// Numbers of fragments, from `base` on; as [`SequenceNumberSet`], with a base of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentNumberSet {
    base: u32,
    bits: Bits,
}

impl FragmentNumberSet {
    /// The set of these ascending numbers, as far as they are within [`SET_LEN_MAX`] from `base`.
    pub fn of(base: u32, numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut bits = Bits::default();
        for number in numbers {
            if !number.checked_sub(base).is_some_and(|at| bits.insert(at)) {
                break;
            }
        }
        Self { base, bits }
    }

    /// The first number of which the set speaks, from 1.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// How many numbers the set speaks of.
    pub fn len(&self) -> u32 {
        self.bits.len
    }

    /// Returns true if the set speaks of no number.
    pub fn is_empty(&self) -> bool {
        self.bits.len == 0
    }

    /// The numbers in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let base = self.base;
        self.bits.iter().map(move |at| base + at)
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let base = from.u32("fragment number set")?;
        if base == 0 || base > u32::MAX - SET_LEN_MAX {
            return Err(from.invalid("fragment number set", base));
        }
        Ok(Self {
            base,
            bits: Bits::decode(from, "fragment number set")?,
        })
    }

    pub(crate) fn encode(&self, into: &mut Encoder<'_>) {
        into.u32(self.base);
        self.bits.encode(into);
    }
}

/// The bits of both sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bits {
    len: u32,
    words: [u32; (SET_LEN_MAX / 32) as usize],
}

impl Bits {
    /// Adds a number; false if it is too far from the base.
    fn insert(&mut self, at: u32) -> bool {
        if at >= SET_LEN_MAX {
            return false;
        }
        self.len = self.len.max(at + 1);
        self.words[(at / 32) as usize] |= 1 << (31 - at % 32);
        true
    }

    fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.len).filter(move |at| self.words[(at / 32) as usize] & (1 << (31 - at % 32)) != 0)
    }

    fn decode(from: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let len = from.u32(what)?;
        if len > SET_LEN_MAX {
            let (limit, got) = (SET_LEN_MAX as usize, len as usize);
            return Err(from.error(what, DecodeErrorKind::TooLong { limit, got }));
        }
        let mut words = [0; (SET_LEN_MAX / 32) as usize];
        for word in &mut words[..len.div_ceil(32) as usize] {
            *word = from.u32(what)?;
        }
        let mut bits = Self { len, words };
        bits.clear_beyond();
        Ok(bits)
    }

    /// Bits after the last may be anything on the wire, and are zero here, so that equal sets are equal.
    fn clear_beyond(&mut self) {
        for at in self.len..self.len.next_multiple_of(32) {
            self.words[(at / 32) as usize] &= !(1 << (31 - at % 32));
        }
    }

    fn encode(self, into: &mut Encoder<'_>) {
        into.u32(self.len);
        for word in &self.words[..self.len.div_ceil(32) as usize] {
            into.u32(*word);
        }
    }
}
