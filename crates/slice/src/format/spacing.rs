//! Spaces between two tokens of one line.

use super::piece::{Kind, Piece};

/// The words after which `::` begins a name instead of continuing one.
const BEFORE_NAMES: &[&str] = &[
    "extends",
    "implements",
    "throws",
    "out",
    "const",
    "idempotent",
];

/// The pieces on one line, with a space where one belongs.
pub(super) fn join(pieces: &[Piece<'_>]) -> String {
    let mut line = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 && is_spaced(&pieces[index - 1], piece) {
            line.push(' ');
        }
        line.push_str(piece.text);
    }
    line
}

/// Returns true if a space stands between two pieces that follow each other.
pub(super) fn is_spaced(left: &Piece<'_>, right: &Piece<'_>) -> bool {
    if left.is_aside() || right.is_aside() {
        return true;
    }
    match (left.kind, right.kind) {
        (Kind::Mark, Kind::Mark) => between_marks(left, right),
        (Kind::Mark, _) => after_mark(left, right),
        (_, Kind::Mark) => before_mark(left, right),
        _ => true,
    }
}

fn between_marks(left: &Piece<'_>, right: &Piece<'_>) -> bool {
    match (left.text, right.text) {
        // Two brackets together would be another token.
        ("[", "[" | "[[") | ("]", "]" | "]]") | (":", ":" | "::") | ("::", ":") => right.spaced,
        ("(" | "[" | "[[" | "<", _) => false,
        (_, ")" | "]" | "]]" | ">" | "," | ";" | "*") => false,
        (")" | "]" | "]]" | "*" | ">", "::" | "[") => true,
        ("=" | "," | "{" | ":", _) | (_, "=" | "{" | "}" | ":") => true,
        ("::", _) => false,
        (_, "(" | "<") => false,
        _ => right.spaced,
    }
}

fn after_mark(left: &Piece<'_>, right: &Piece<'_>) -> bool {
    match left.text {
        "(" | "[" | "[[" | "<" | "::" => false,
        ")" | "]" | "]]" | ">" | "*" | "=" | "," | ";" | "{" | "}" | ":" => true,
        // A sign and its number: `- 5` is something else than `-5`.
        _ => right.spaced,
    }
}

fn before_mark(left: &Piece<'_>, right: &Piece<'_>) -> bool {
    match right.text {
        "(" | ")" | "<" | ">" | "]" | "]]" | "," | ";" | "*" => false,
        "::" => BEFORE_NAMES.contains(&left.text),
        "=" | "{" | "}" | ":" | "[" | "[[" => true,
        _ => right.spaced,
    }
}
