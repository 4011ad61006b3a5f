//! A body as columns: what alike requests of a batch have in common stands together, and a counter becomes a constant.
//!
//! ```text
//! | run_count: size | runs: (piece_len: size, piece_count: size)... | classes |
//! class: | kind: two bits for each column, from the lowest on | column 0 | column 1 | ...
//! ```
//!
//! The body is cut into pieces; a run is some pieces of one length. All pieces of one length form a class, the shortest
//! class first. A column of a class has the bytes of one position in all its pieces:
//!
//! | kind | bytes of the column |
//! |---|---|
//! | 0 | each byte |
//! | 1 | the first byte, and the difference of each to the one before |
//! | 2 | one byte, which all of them are |
//! | 3 | the first byte, and the only difference |
//!
//! The form does not say where a piece comes from: for a batch, the count is a piece, and so is each request.

use crate::encoding::{Decoder, Encoder, EncodingVersion};

/// The largest number of runs. A body with more is not worth it.
pub(super) const RUNS_MAX: usize = 1024;
/// How much longer than its columns and their kinds a form is at most, in bytes: a size has five, and the kinds of a class
/// end with a byte.
pub(super) const RUNS_LEN_MAX: usize = 5 + RUNS_MAX * 11;
/// Columns whose kinds share a byte.
pub(super) const KINDS_IN_BYTE: usize = 4;

/// Consecutive pieces of a body with the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: usize,
    piece_len: usize,
    piece_count: usize,
}

impl Run {
    fn pieces(self) -> impl Iterator<Item = usize> {
        (0..self.piece_count).map(move |piece| self.start + piece * self.piece_len)
    }
}

/// The form of a body with pieces of these lengths; `None` if the pieces are not the body, or make too many runs.
pub(super) fn columns(body: &[u8], lens: impl Iterator<Item = usize>) -> Option<Vec<u8>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut end = 0_usize;
    for piece_len in lens {
        let is_full = runs.len() == RUNS_MAX;
        match runs.last_mut() {
            Some(last) if last.piece_len == piece_len => last.piece_count += 1,
            _ if is_full || piece_len == 0 => return None,
            _ => runs.push(Run {
                start: end,
                piece_len,
                piece_count: 1,
            }),
        }
        end = end.checked_add(piece_len)?;
    }
    if end != body.len() {
        return None;
    }
    let mut form = Vec::with_capacity(body.len() + RUNS_LEN_MAX);
    let mut encoder = Encoder::new(&mut form, EncodingVersion::V1_1);
    encoder.size(runs.len());
    for run in &runs {
        encoder.size(run.piece_len);
        encoder.size(run.piece_count);
    }
    encoder.finish().ok()?;
    let mut column = Vec::new();
    for class in classes(runs).chunk_by(|a, b| a.piece_len == b.piece_len) {
        let piece_len = class[0].piece_len;
        let kinds = form.len();
        form.resize(kinds + piece_len.div_ceil(KINDS_IN_BYTE), 0);
        for position in 0..piece_len {
            let pieces = class.iter().flat_map(|run| run.pieces());
            column.clear();
            column.extend(pieces.map(|piece| body[piece + position]));
            let kind = kind_of(&column);
            form[kinds + position / KINDS_IN_BYTE] |= kind << (position % KINDS_IN_BYTE * 2);
            if matches!(kind, DIFFERENCES | STEADY) {
                differ(&mut column);
            }
            form.extend_from_slice(match kind {
                CONSTANT => &column[..1],
                STEADY => &column[..2],
                _ => &column,
            });
        }
    }
    Some(form)
}

/// The body of a form; `None` if it is not the form of a body of `body_len` bytes.
pub(super) fn body(form: &[u8], body_len: usize) -> Option<Vec<u8>> {
    let mut decoder = Decoder::new(form, EncodingVersion::V1_1);
    let run_count = decoder
        .size("columns")
        .ok()
        .filter(|count| *count <= RUNS_MAX)?;
    let mut runs = Vec::new();
    let mut end = 0_usize;
    for _ in 0..run_count {
        let run = Run {
            start: end,
            piece_len: decoder.size("columns").ok().filter(|len| *len > 0)?,
            piece_count: decoder.size("columns").ok().filter(|count| *count > 0)?,
        };
        let len = run.piece_len.checked_mul(run.piece_count)?;
        end = end.checked_add(len).filter(|end| *end <= body_len)?;
        runs.push(run);
    }
    if end != body_len {
        return None;
    }
    let mut body = vec![0; body_len];
    for class in classes(runs).chunk_by(|a, b| a.piece_len == b.piece_len) {
        let piece_len = class[0].piece_len;
        let kinds = piece_len.div_ceil(KINDS_IN_BYTE);
        let kinds = decoder.bytes(kinds, "columns").ok()?;
        let piece_count = class.iter().map(|run| run.piece_count).sum();
        for position in 0..piece_len {
            let kind = kinds[position / KINDS_IN_BYTE] >> (position % KINDS_IN_BYTE * 2) & 3;
            let len = match kind {
                CONSTANT => 1,
                STEADY => 2,
                _ => piece_count,
            };
            let column = decoder.bytes(len, "columns").ok()?;
            let bytes = column.iter().chain(std::iter::repeat(&column[len - 1]));
            let pieces = class.iter().flat_map(|run| run.pieces());
            let mut last = 0_u8;
            for (piece, byte) in pieces.zip(bytes) {
                last = match kind {
                    DIFFERENCES | STEADY => last.wrapping_add(*byte),
                    _ => *byte,
                };
                body[piece + position] = last;
            }
        }
    }
    (decoder.remaining() == 0).then_some(body)
}

const DIFFERENCES: u8 = 1;
const CONSTANT: u8 = 2;
const STEADY: u8 = 3;

/// The runs by the length of their pieces, each length in the order of the body.
fn classes(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by_key(|run| run.piece_len);
    runs
}

/// The kind by which a column gets short. Differences are better if more of them than of the bytes repeat the last one.
fn kind_of(column: &[u8]) -> u8 {
    let is_equal = |two: &&[u8]| two[0] == two[1];
    let is_steady =
        |three: &&[u8]| three[1].wrapping_sub(three[0]) == three[2].wrapping_sub(three[1]);
    let equal = column.windows(2).filter(is_equal).count();
    let steady = column.windows(3).filter(is_steady).count();
    match column.len() {
        len @ 2.. if equal == len - 1 => CONSTANT,
        len @ 3.. if steady == len - 2 => STEADY,
        _ => u8::from(steady > equal),
    }
}

fn differ(column: &mut [u8]) {
    let mut last = 0;
    for byte in column {
        let value = *byte;
        *byte = value.wrapping_sub(last);
        last = value;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_form_of_alike_pieces_is_as_its_layout_says() {
        // A count, and three requests whose last byte goes up.
        let bytes = [9, b'a', 1, b'a', 2, b'a', 3];
        let form = columns(&bytes, [1, 2, 2, 2].into_iter()).expect("the pieces are the body");
        let runs = [2, 1, 1, 2, 3];
        let (count, requests) = ([0, 9], [0b11_10, b'a', 1, 1]);
        assert_eq!(form, [&runs[..], &count, &requests].concat());
        assert_eq!(body(&form, 7).expect("our own form"), bytes);
    }

    #[test]
    fn a_form_that_claims_what_it_does_not_have_is_none() {
        let form = columns(&[1, 2, 7, 4, 5, 6], [2, 2, 2].into_iter()).expect("a form");
        for len in [0, 5, 7, usize::MAX] {
            assert_eq!(body(&form, len), None);
        }
        for len in 0..form.len() {
            assert_eq!(body(&form[..len], 6), None, "cut at {len}");
        }
        assert_eq!(
            body(&[&form[..], &[0]].concat(), 6),
            None,
            "followed by more"
        );
        let huge = [1, 255, 255, 255, 255, 127, 255, 255, 255, 255, 127];
        assert_eq!(body(&huge, usize::MAX), None);
        assert_eq!(body(&[1, 0, 4], 0), None, "pieces of nothing");
        assert_eq!(columns(&[1, 2, 3], [2].into_iter()), None, "not all of it");
        let many = vec![0; 3 * RUNS_MAX];
        let lens = (0..2 * RUNS_MAX).map(|at| 1 + at % 2);
        assert_eq!(columns(&many, lens), None, "too many runs");
    }

    proptest! {
        #[test]
        fn every_body_comes_back(pieces in prop::collection::vec(
            (1_usize..12).prop_flat_map(|len| prop::collection::vec(0_u8..3, len)), 0..200,
        )) {
            let bytes = pieces.concat();
            if let Some(form) = columns(&bytes, pieces.iter().map(Vec::len)) {
                prop_assert_eq!(body(&form, bytes.len()), Some(bytes));
            }
        }

        #[test]
        fn a_hostile_form_gives_a_body_of_the_claimed_length_or_none(
            form in prop::collection::vec(prop_oneof![0_u8..6, any::<u8>()], 0..60),
            claimed in 0_usize..80,
        ) {
            if let Some(body) = body(&form, claimed) {
                prop_assert_eq!(body.len(), claimed);
            }
        }
    }
}
