//! Patterns of texts, and groups of numbers.

use std::ops::RangeInclusive;

/// Numbers and ranges of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group(Vec<RangeInclusive<u64>>);

impl Group {
    /// Reads `1`, `1-3` or `1,5-7`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse::<u64>().ok().filter(|_| is_number);
            number.ok_or_else(|| format!("expected a number, got `{text}`"))
        };
        let ranges = text.split(',').map(|part| {
            let part = part.trim();
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (low, high) = (number(low.trim())?, number(high.trim())?);
            match low <= high {
                true => Ok(low..=high),
                false => Err(format!("expected the smaller number first, got `{part}`")),
            }
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }

    /// The beginning of a range that has only numbers above `max`, if there is one.
    pub(super) fn beyond(&self, max: u64) -> Option<u64> {
        self.0
            .iter()
            .map(|range| *range.start())
            .find(|it| *it > max)
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

/// A pattern of a text: a sequence of literal text, `*` for any characters, and groups of decimal numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Any,
    Number(Group),
}

impl Pattern {
    /// Reads a text in which `*` stands for any characters or none, and `[...]` for a number of a group.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['*', '[', ']']) {
            if at > 0 {
                parts.push(Part::Literal(rest[..at].to_owned()));
            }
            match rest.as_bytes()[at] {
                b'*' => {
                    if parts.last() != Some(&Part::Any) {
                        parts.push(Part::Any);
                    }
                    rest = &rest[at + 1..];
                }
                b'[' => {
                    let end = rest[at..].find(']').map(|end| at + end);
                    let end = end.ok_or_else(|| "expected `]` behind `[`".to_owned())?;
                    parts.push(Part::Number(Group::parse(&rest[at + 1..end])?));
                    rest = &rest[end + 1..];
                }
                _ => return Err("expected `[` in front of `]`".to_owned()),
            }
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns true if the whole text matches the pattern. The number of steps is at most the product of both lengths,
    /// because only the last `*` is tried again.
    pub(super) fn matches(&self, text: &str) -> bool {
        let (mut part, mut at) = (0, 0);
        // The part behind the last `*`, and the place in the text at which that part was last tried.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let matched = match self.0.get(part) {
                None if at == text.len() => return true,
                None => None,
                Some(Part::Any) => {
                    retry = Some((part + 1, at));
                    Some(at)
                }
                Some(Part::Literal(literal)) => {
                    let is_there = text[at..].starts_with(literal.as_str());
                    is_there.then(|| at + literal.len())
                }
                Some(Part::Number(group)) => number_end(text, at, group),
            };
            match (matched, &mut retry) {
                (Some(end), _) => (part, at) = (part + 1, end),
                (None, Some((behind, tried))) => {
                    let Some(skipped) = text[*tried..].chars().next() else {
                        return false;
                    };
                    *tried += skipped.len_utf8();
                    (part, at) = (*behind, *tried);
                }
                (None, None) => return false,
            }
        }
    }
}

/// The largest number of digits of a number. A number with more digits matches no group.
const DIGITS_MAX: usize = 20;

/// Returns where the decimal number at `at` ends, if the group has that number. All digits from `at` on belong to it.
fn number_end(text: &str, at: usize, group: &Group) -> Option<usize> {
    let rest = &text[at..];
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let digits = rest.bytes().take_while(is_digit).take(DIGITS_MAX + 1);
    let len = digits.count();
    if len > DIGITS_MAX {
        return None;
    }
    let number = rest[..len].parse().ok()?;
    group.has(number).then_some(at + len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn a_pattern_matches_whole_texts() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "anything"),
            ("db*.example.com", "db7.example.com"),
            ("db*.example.com", "db.a.example.com"),
            ("10.0.[0-3,7].*", "10.0.2.255"),
            ("10.0.[0-3,7].*", "10.0.7.1"),
            ("node[1]", "node1"),
            ("*[7]", "a6b7"),
            ("a*b*c", "aXbYbc"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("db*.example.com", "xdb7.example.com"),
            ("db*.example.com", "db7.example.com.evil"),
            ("10.0.[0-3].*", "10.0.12.1"),
            ("10.0.[0-3].*", "10.0.x.1"),
            ("Host", "host"),
            ("node[1]", "node"),
            ("node[1-9]", "node99999999999999999999999"),
            ("", "a"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["[1", "1]", "[]", "[a]", "[3-1]", "[1-]", "[1,,2]", "[+1]"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        /// Compares the pattern with a search that tries every length for every `*`.
        #[test]
        fn the_last_star_alone_must_be_tried_again(
            pattern in "[ab*]{0,8}", text in "[ab]{0,10}"
        ) {
            fn search(pattern: &[u8], text: &[u8]) -> bool {
                match (pattern.split_first(), text.split_first()) {
                    (None, None) => true,
                    (Some((b'*', rest)), _) => (0..=text.len()).any(|at| search(rest, &text[at..])),
                    (Some((a, pattern)), Some((b, text))) => a == b && search(pattern, text),
                    _ => false,
                }
            }
            prop_assert_eq!(
                matches(&pattern, &text),
                search(pattern.as_bytes(), text.as_bytes())
            );
        }

        #[test]
        fn any_pattern_and_any_text_end_well(pattern in "\\PC{0,20}", text in "\\PC{0,20}") {
            if let Ok(pattern) = Pattern::parse(&pattern) {
                pattern.matches(&text);
            }
        }
    }
}
