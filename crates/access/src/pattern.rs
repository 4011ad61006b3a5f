//! Patterns for the names of topics and users.

use std::fmt;
use std::str::FromStr;

/// A pattern for names. `*` matches any characters or none, `?` matches one character, and other characters match
/// themselves. Case matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

/// The largest length of a pattern, in bytes. Names are not longer.
pub const PATTERN_LEN_MAX: usize = 256;

impl Pattern {
    /// Returns true if a name matches the pattern. The number of steps is at most the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.chars(), name.chars());
        // The pattern behind the last star, and the part of the name that the star does not match yet.
        let mut star = None;
        loop {
            let (here, next) = (pattern.clone().next(), rest.clone().next());
            match (here, next) {
                (Some('*'), _) => {
                    pattern.next();
                    star = Some((pattern.clone(), rest.clone()));
                }
                (Some(own), Some(other)) if own == '?' || own == other => {
                    pattern.next();
                    rest.next();
                }
                (None, None) => return true,
                _ => {
                    let Some((after, left)) = &mut star else {
                        return false;
                    };
                    if left.next().is_none() {
                        return false;
                    }
                    (pattern, rest) = (after.clone(), left.clone());
                }
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.len() {
            0 => {
                Err("expected a name or a pattern such as \"telemetry.*\", got nothing".to_owned())
            }
            1..=PATTERN_LEN_MAX => Ok(Self(text.to_owned())),
            len => Err(format!(
                "expected a pattern of at most {PATTERN_LEN_MAX} bytes, got {len}"
            )),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        pattern.parse::<Pattern>().expect("a pattern").matches(name)
    }

    #[test]
    fn a_pattern_without_wildcards_is_one_name() {
        assert!(matches("telemetry", "telemetry"));
        for other in ["Telemetry", "telemetry.cpu", "telemetr", ""] {
            assert!(!matches("telemetry", other), "{other}");
        }
    }

    #[test]
    fn wildcards_stand_for_any_characters_and_for_one() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "a"),
            ("a*", "a"),
            ("*.cpu", "lab.west.cpu"),
            ("lab.*.cpu", "lab.west.cpu"),
            ("a*b*c", "abbc.c"),
            ("t?pe", "tüpe"),
            ("**", "x"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.cpu", "cpu"),
            ("?", ""),
            ("a*b", "abc"),
            ("?", "ab"),
            ("lab.*", "lab"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_stars_ends_soon_on_a_long_name() {
        let pattern = format!("{}b", "*a".repeat(100));
        assert!(!matches(&pattern, &"a".repeat(20_000)));
    }

    #[test]
    fn an_empty_and_an_overlong_pattern_are_refused() {
        assert!("".parse::<Pattern>().is_err());
        assert!("x".repeat(PATTERN_LEN_MAX + 1).parse::<Pattern>().is_err());
    }

    /// Matches by the definition, slowly.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|at| by_definition(rest, &name[at..])),
            Some((own, rest)) => {
                let first = name.first();
                first.is_some_and(|other| *own == '?' || own == other)
                    && by_definition(rest, &name[1..])
            }
        }
    }

    proptest! {
        #[test]
        fn it_matches_what_its_definition_says(pattern in "[ab*?]{1,8}", name in "[abc]{0,8}") {
            let [own, other] = [&pattern, &name].map(|text| text.chars().collect::<Vec<_>>());
            prop_assert_eq!(matches(&pattern, &name), by_definition(&own, &other));
        }
    }
}
