//! Partitions: names that keep endpoints of one topic apart.

/// Returns true if two endpoints with these partitions share one. None is the partition with the empty name.
pub(crate) fn share_a_partition(one: &[String], other: &[String]) -> bool {
    let default = [String::new()];
    let one = if one.is_empty() { &default } else { one };
    let other = if other.is_empty() { &default } else { other };
    one.iter().any(|a| other.iter().any(|b| names_match(a, b)))
}

/// Two patterns never match each other, says the standard, unless they are equal.
fn names_match(a: &str, b: &str) -> bool {
    match (is_pattern(a), is_pattern(b)) {
        (true, false) => matches(a.as_bytes(), b.as_bytes()),
        (false, true) => matches(b.as_bytes(), a.as_bytes()),
        _ => a == b,
    }
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Matches with at most one place to come back to, so the time is at most the product of the lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((after_star, from)) => {
                    p = after_star;
                    n = from + 1;
                    retry = Some((after_star, n));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(one: &[&str], other: &[&str]) -> bool {
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        share_a_partition(&owned(one), &owned(other))
    }

    #[test]
    fn endpoints_meet_in_a_partition_that_both_have() {
        assert!(share(&[], &[""]) && share(&["a", "b"], &["b"]));
        assert!(!share(&[], &["a"]) && !share(&["a"], &["b"]));
    }

    #[test]
    fn patterns_match_names_and_not_patterns() {
        assert!(
            share(&["r*t/?"], &["rt/1"]) && share(&["robot1"], &["robot?"]) && share(&["*"], &[])
        );
        assert!(!share(&["r*"], &["*t"]) && !share(&["a*b"], &["ac"]));
        assert!(share(&["a*b*c"], &["aXbXbXc"]));
    }
}
