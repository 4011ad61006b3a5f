//! Characters that change the direction of text: a line with them looks different from what it says.

/// Returns true if a character changes the order in which the text behind it is shown, or ends a line.
///
/// Source: Unicode Standard Annex 9, 2.
pub(crate) fn changes_order(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
