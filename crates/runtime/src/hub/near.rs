//! The name that was probably meant.

/// Returns the known name that is most like `name`; `None` if none is like it.
pub fn nearest_name<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distances = known.iter().map(|other| (distance(name, other), *other));
    let (distance, nearest) = distances.min()?;
    (distance <= name.chars().count() / 3 + 1).then_some(nearest)
}

/// How many characters must be added, removed or replaced to turn one text into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, own) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (to, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(own != *other);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(row[to] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_by_a_similar_one_and_not_by_any() {
        let known = ["queue.events", "queue.bytes", "listen"];
        assert_eq!(nearest_name("queue.event", &known), Some("queue.events"));
        assert_eq!(nearest_name("lisetn", &known), Some("listen"));
        assert_eq!(nearest_name("colour", &known), None);
    }
}
