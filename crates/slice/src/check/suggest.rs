//! Which name was probably meant.

/// The candidate that is most like `word`, if one is like enough.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let most = (word.chars().count() / 3).min(3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 3 && candidate.len() <= 64)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters must be inserted, removed, replaced or swapped with their neighbour; a
/// change of capitalisation is free.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<u8> = left.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    let right: Vec<u8> = right
        .bytes()
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let mut best = (row[j] + usize::from(l != r))
                .min(row[j + 1] + 1)
                .min(next[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn swapped_letters_count_once() {
        assert_eq!(distance("strcut", "struct"), 1);
        assert_eq!(distance("Colour", "Color"), 1);
        assert_eq!(distance("color", "Color"), 0);
    }

    #[test]
    fn nothing_alike_suggests_nothing() {
        assert_eq!(nearest("Foo", ["Greeter", "Temperature"]), None);
        assert_eq!(
            nearest("Greter", ["Greeter", "Temperature"]),
            Some("Greeter")
        );
    }
}
