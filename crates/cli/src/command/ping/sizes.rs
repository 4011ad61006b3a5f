//! Sizes of payloads: lists and ranges of them.

use crate::size::{self, Size};

/// The sizes to measure with, in the order given; each holds whole doubles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes(Vec<Size>);

impl Sizes {
    /// One after another.
    pub(super) fn iter(&self) -> impl Iterator<Item = Size> {
        self.0.iter().copied()
    }
}

/// Reads sizes parted by commas; `16..8M` is 16, 32, 64 and so on up to 8M.
pub(super) fn parse(text: &str) -> Result<Sizes, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => sizes.push(whole(part)?),
            Some((first, last)) => {
                let (first, last) = (whole(first)?, whole(last)?);
                if first > last {
                    return Err(format!("expected the smaller size first, got `{part}`"));
                }
                let doubled = |size: &Size| Some(Size::of(size.bytes() * 2));
                let range = std::iter::successors(Some(first), doubled);
                sizes.extend(range.take_while(|size| *size <= last));
            }
        }
    }
    Ok(Sizes(sizes))
}

fn whole(text: &str) -> Result<Size, String> {
    let size = size::parse(text)?;
    match size.bytes() {
        8..=SIZE_MAX if size.bytes() % 8 == 0 => Ok(size),
        _ => Err(format!(
            "expected whole doubles, a multiple of 8 B up to {}, got `{text}`",
            Size::of(SIZE_MAX)
        )),
    }
}

/// The longest value that is sent: 128 MiB. The answer is as long, and must be below the limit on the length of answers.
const SIZE_MAX: usize = 128 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<usize> {
        let sizes = parse(text).expect("sizes");
        sizes.iter().map(Size::bytes).collect()
    }

    #[test]
    fn a_range_doubles_up_to_its_end() {
        assert_eq!(bytes("16..128"), [16, 32, 64, 128]);
        assert_eq!(bytes("24..104,8"), [24, 48, 96, 8]);
        let orca = bytes("16..8M");
        assert_eq!((orca.len(), orca[19]), (20, 8 << 20));
    }

    #[test]
    fn a_size_that_holds_no_whole_doubles_is_refused() {
        for text in ["0", "4", "20", "1M..16", "16..", "129M", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
