//! Fits a table into the width of a terminal: the widths of columns, and text that is wrapped over several lines.

/// The space between two columns.
pub(super) const GAP: &str = "  ";

/// Below this many characters a column of texts is of no use.
const TEXT_MIN: usize = 10;

/// How long a line with these columns is.
pub(super) fn line_of(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// Widths with which a line is no longer than this, of as many columns from the left as have room.
///
/// Numbers get all that they need. Texts share what is left: none gets more than it needs.
pub(super) fn fit(needed: &[usize], is_number: &[bool], line: usize) -> Vec<usize> {
    let least = |(needed, is_number): (&usize, &bool)| match is_number {
        true => *needed,
        false => (*needed).min(TEXT_MIN),
    };
    let mut widths: Vec<usize> = needed.iter().zip(is_number).map(least).collect();
    while widths.len() > 1 && line_of(&widths) > line {
        widths.pop();
    }
    let mut spare = line.saturating_sub(line_of(&widths));
    let mut wanting: Vec<usize> = (0..widths.len())
        .filter(|at| widths[*at] < needed[*at])
        .collect();
    // The column that needs least comes first, so that the others get what it leaves.
    wanting.sort_by_key(|at| needed[*at]);
    for (index, at) in wanting.iter().enumerate() {
        let share = spare / (wanting.len() - index);
        let given = share.min(needed[*at] - widths[*at]);
        widths[*at] += given;
        spare -= given;
    }
    widths
}

/// The text in lines of at most this many characters, parted at blanks. A longer word loses its middle.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    parted(text, width, |word| vec![abbreviate(word, width)])
}

/// The text in lines of at most this many characters, parted at blanks. A longer word goes on in the next line, so
/// nothing is lost.
pub(super) fn broken(text: &str, width: Option<usize>) -> Vec<String> {
    let width = width.map_or(usize::MAX, |width| width.max(TEXT_MIN));
    parted(text, width, |word| {
        let chars: Vec<char> = word.chars().collect();
        let pieces = chars.chunks(width);
        pieces.map(|piece| piece.iter().collect()).collect()
    })
}

/// The text in lines; `pieces` of a word are no longer than a line, and each but the first begins a new one.
fn parted(text: &str, width: usize, pieces: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let len = |text: &str| text.chars().count();
    if len(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        for (index, piece) in pieces(word).into_iter().enumerate() {
            match lines.last_mut() {
                Some(line) if index == 0 && len(line) + 1 + len(&piece) <= width => {
                    line.push(' ');
                    line.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
    }
    lines
}

/// A word without its middle, if it is too long: the ends tell most words apart.
pub(crate) fn abbreviate(word: &str, width: usize) -> String {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() <= width {
        return word.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (front, back) = (kept.div_ceil(2), kept / 2);
    let front = chars[..front].iter();
    let back = chars[chars.len() - back..].iter();
    front.chain([&'\u{2026}']).chain(back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_longer_than_the_terminal() {
        for line in 20..200 {
            for needed in [vec![5, 30, 60], vec![90], vec![8; 12], vec![40, 3, 40, 3]] {
                let is_number: Vec<bool> = needed.iter().map(|it| *it < 9).collect();
                let widths = fit(&needed, &is_number, line);
                assert!(line_of(&widths) <= line, "{needed:?} in {line}: {widths:?}");
                let all: usize = line_of(&needed);
                assert!(
                    all > line || widths == needed,
                    "{needed:?} in {line}: {widths:?}"
                );
            }
        }
    }

    #[test]
    fn a_long_word_keeps_its_ends() {
        assert_eq!(abbreviate("0123456789", 10), "0123456789");
        assert_eq!(abbreviate("0123456789", 6), "012\u{2026}89");
        assert_eq!(abbreviate("ab", 1), "\u{2026}");
    }

    #[test]
    fn texts_go_on_in_the_next_line() {
        assert_eq!(wrap("one, two, three", 9), ["one, two,", "three"]);
        assert_eq!(wrap("short", 9), ["short"]);
    }
}
