//! Comments at their new place.

use super::piece::{Kind, Piece, width};

/// The text of a comment that begins in column `indent`, without a line end behind it.
///
/// The further lines of a block move as far as its first one; if all of them begin with a star, the
/// stars come under the first one.
pub(super) fn placed(comment: &Piece<'_>, indent: usize) -> String {
    if comment.kind == Kind::LineComment {
        return trimmed(comment.text).to_owned();
    }
    let mut lines = comment.text.lines();
    let mut text = lines.next().unwrap_or("").trim_end().to_owned();
    let has_stars = comment
        .text
        .lines()
        .skip(1)
        .all(|line| line.trim_start().starts_with('*'));
    for line in lines {
        let inner = line.trim();
        text.push('\n');
        if inner.is_empty() {
            continue;
        }
        let before = width(&line[..line.len() - line.trim_start().len()], 0);
        let column = match has_stars {
            true => indent + 1,
            false => (before + indent).saturating_sub(comment.column),
        };
        text.push_str(&" ".repeat(column));
        text.push_str(inner);
    }
    text
}

/// A line without blanks at its end, unless that would make a backslash continue it.
fn trimmed(line: &str) -> &str {
    let trimmed = line.trim_end();
    match trimmed.ends_with('\\') {
        true => line,
        false => trimmed,
    }
}
