//! How messages are worded: names suggested ("did you mean") and listed, text quoted.

/// How many names a message lists before it says "and N more".
const MAX_LISTED: usize = 30;

/// The closest of `known`, if it is close enough to be what was meant.
pub(crate) fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let simple = simple_name(name).to_lowercase();
    let limit = 1 + simple.chars().count() / 4;
    known
        .map(|candidate| {
            let other = simple_name(candidate).to_lowercase();
            (distance(&simple, &other), candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names as a list for a message.
pub(crate) fn join<T: AsRef<str>>(names: &[T]) -> String {
    let listed: Vec<&str> = names.iter().take(MAX_LISTED).map(AsRef::as_ref).collect();
    let mut text = listed.join(", ");
    if names.len() > MAX_LISTED {
        text += &format!(" and {} more", names.len() - MAX_LISTED);
    }
    text
}

/// Text in quotes, shortened.
pub(crate) fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    if text.chars().count() <= MAX_CHARS {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(MAX_CHARS).collect();
    format!("{:?}", start + "...")
}

fn simple_name(scoped: &str) -> &str {
    scoped.rsplit("::").next().unwrap_or(scoped)
}

/// The number of characters to insert, delete or replace; two swapped neighbours count as one.
fn distance(left: &str, right: &str) -> usize {
    // A name in JSON can be of any length; a name beyond this length is no typing error.
    const MAX_CHARS: usize = 64;
    let left: Vec<char> = left.chars().take(MAX_CHARS).collect();
    let right: Vec<char> = right.chars().take(MAX_CHARS).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replace = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            let is_swap =
                i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if is_swap {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_mistyped_name_is_recognized_and_an_unrelated_one_is_not() {
        let known = ["name", "count", "::M::Celsius"];
        let suggestion = |name| suggest(name, known.into_iter());
        assert_eq!(suggestion("nmae"), Some("name"));
        assert_eq!(suggestion("Count"), Some("count"));
        assert_eq!(suggestion("::M::Celcius"), Some("::M::Celsius"));
        assert_eq!(suggestion("temperature"), None);
    }
}
