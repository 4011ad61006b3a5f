//! A statement on as few lines as it fits on.

use super::piece::Piece;
use super::spacing::join;
use super::{INDENT, MAX_WIDTH};

/// A line of a statement, and how many columns it is indented beyond the first.
pub(super) type Line = (usize, String);

/// The lines of a statement without comments that begins in column `indent`.
pub(super) fn wrap(statement: &[Piece<'_>], indent: usize) -> Vec<Line> {
    let fits = |extra: usize, line: &str| indent + extra + line.chars().count() <= MAX_WIDTH;
    let whole = join(statement);
    if fits(0, &whole) {
        return vec![(0, whole)];
    }
    let metadata = leading_metadata(statement);
    if metadata > 0 {
        let mut lines = directives(&statement[..metadata], indent);
        if metadata < statement.len() {
            lines.extend(wrap(&statement[metadata..], indent));
        }
        return lines;
    }
    let tail = top_level(statement, |piece| is_clause(piece.text)).filter(|tail| *tail > 0);
    let tail = tail.unwrap_or(statement.len());
    let (head, tail) = statement.split_at(tail);
    let mut lines = operation(head, &fits);
    if !tail.is_empty() {
        lines.extend(clause(tail, &fits));
    }
    lines
}

/// The lines of metadata in brackets.
fn directives(metadata: &[Piece<'_>], indent: usize) -> Vec<Line> {
    let whole = join(metadata);
    if indent + whole.chars().count() <= MAX_WIDTH {
        return vec![(0, whole)];
    }
    split_after_commas(metadata, 0, INDENT)
}

/// The lines of what stands before `throws` or `extends`.
fn operation(head: &[Piece<'_>], fits: &dyn Fn(usize, &str) -> bool) -> Vec<Line> {
    let whole = join(head);
    let Some(open) = last_group(head).filter(|_| !fits(0, &whole)) else {
        return vec![(0, whole)];
    };
    let (before, parameters) = head.split_at(open + 1);
    let together = join(parameters);
    let mut lines = vec![(0, join(before))];
    match fits(INDENT, &together) {
        true => lines.push((INDENT, together)),
        false => lines.extend(split_after_commas(parameters, INDENT, INDENT)),
    }
    lines
}

/// The lines of `throws A, B` or `extends A, B`.
fn clause(tail: &[Piece<'_>], fits: &dyn Fn(usize, &str) -> bool) -> Vec<Line> {
    let whole = join(tail);
    match fits(INDENT, &whole) {
        true => vec![(INDENT, whole)],
        false => split_after_commas(tail, INDENT, 2 * INDENT),
    }
}

fn split_after_commas(pieces: &[Piece<'_>], first: usize, others: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    // The brackets of metadata itself do not count, those of a parameter do.
    let is_metadata = pieces[0].is("[") || pieces[0].is("[[");
    for (index, piece) in pieces.iter().enumerate() {
        depth = depth_after(depth, piece);
        let is_end = piece.is(",") && (depth == 0 || is_metadata && depth == 1);
        if is_end || index + 1 == pieces.len() {
            let column = if lines.is_empty() { first } else { others };
            lines.push((column, join(&pieces[start..=index])));
            start = index + 1;
        }
    }
    lines
}

/// Returns true if these pieces are metadata and nothing else.
pub(super) fn is_metadata<'p, 't: 'p>(pieces: impl IntoIterator<Item = &'p Piece<'t>>) -> bool {
    let mut depth = 0;
    for piece in pieces {
        if depth == 0 && !piece.is("[") && !piece.is("[[") {
            return false;
        }
        depth = depth_after(depth, piece);
    }
    depth == 0
}

/// How many pieces the metadata in front of a statement has.
fn leading_metadata(statement: &[Piece<'_>]) -> usize {
    let mut depth = 0;
    let mut len = 0;
    for (index, piece) in statement.iter().enumerate() {
        if depth == 0 && !piece.is("[") && !piece.is("[[") {
            break;
        }
        depth = depth_after(depth, piece);
        if depth == 0 {
            len = index + 1;
        }
    }
    len
}

/// The depth of parentheses and brackets behind a piece.
pub(super) fn depth_after(depth: usize, piece: &Piece<'_>) -> usize {
    if ["(", "[", "[[", "<"].iter().any(|open| piece.is(open)) {
        depth + 1
    } else if [")", "]", "]]", ">"].iter().any(|close| piece.is(close)) {
        depth.saturating_sub(1)
    } else {
        depth
    }
}

/// Where the last parenthesis that stands in no other opens: the parameters of an operation.
fn last_group(head: &[Piece<'_>]) -> Option<usize> {
    let mut depth = 0;
    let mut last = None;
    for (index, piece) in head.iter().enumerate() {
        if depth == 0 && piece.is("(") {
            last = Some(index);
        }
        depth = depth_after(depth, piece);
    }
    last
}

fn top_level(statement: &[Piece<'_>], wanted: impl Fn(&Piece<'_>) -> bool) -> Option<usize> {
    let mut depth = 0;
    statement.iter().position(|piece| {
        let is_found = depth == 0 && wanted(piece);
        depth = depth_after(depth, piece);
        is_found
    })
}

fn is_clause(word: &str) -> bool {
    matches!(word, "throws" | "extends" | "implements")
}
