//! Marks on an axis: round numbers for any range, and times with their unit.

/// Round numbers within a range above 0: at least two, usually 3 to 10. An empty range has none.
///
/// A wide range has a logarithmic axis, and gets 1, 2 and 5 times each power of ten. A very wide range gets only the
/// powers of ten. A narrow range gets even steps.
pub(super) fn ticks(least: f64, most: f64) -> Vec<f64> {
    if !(least > 0.0 && most > least && most.is_finite()) {
        return Vec::new();
    }
    let digits: &[f64] = match (most / least).log10() {
        decades if decades > 4.0 => &[1.0],
        _ => &[1.0, 2.0, 5.0],
    };
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let powers =
        (first..=last).flat_map(|power| digits.iter().map(move |it| it * 10f64.powi(power)));
    let found: Vec<f64> = powers.filter(|it| (least..=most).contains(it)).collect();
    match found.len() {
        0..=2 => even(least, most),
        _ => found,
    }
}

/// Even steps of 1, 2 or 5 of a power of ten.
fn even(least: f64, most: f64) -> Vec<f64> {
    let rough = (most - least) / 8.0;
    let power = 10f64.powf(rough.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0];
    let digit = digits.iter().find(|it| *it * power >= rough);
    let step = digit.unwrap_or(&10.0) * power;
    let first = (least / step).ceil() as i64;
    let steps = (first..).map(|count| count as f64 * step);
    steps.take_while(|it| *it <= most).collect()
}

/// Microseconds as people read them: three digits and a unit.
pub(super) fn time_text(micros: f64) -> String {
    let (number, unit) = match micros {
        _ if micros >= 1e6 => (micros / 1e6, "s"),
        _ if micros >= 1e3 => (micros / 1e3, "ms"),
        _ if micros >= 1.0 => (micros, "us"),
        _ => (micros * 1e3, "ns"),
    };
    let digits = match number {
        _ if number >= 100.0 => 0,
        _ if number >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{number:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_has_marks() {
        // Only 20 and 50 of the multiples by 1, 2 and 5 are in the range, so it gets even steps.
        assert_eq!(ticks(11.0, 95.0), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks(1.0, 10.0), [1.0, 2.0, 5.0, 10.0]);
        for exponent in -3..9 {
            for ratio in [1.01, 1.3, 2.0, 4.0, 7.0, 30.0, 1e4, 1e7] {
                for start in [1.0, 1.7, 3.3, 9.9] {
                    let least = start * 10f64.powi(exponent);
                    let found = ticks(least, least * ratio);
                    assert!(
                        (2..=16).contains(&found.len()),
                        "{least} x {ratio}: {found:?}"
                    );
                    let is_inside = |it: &f64| (least * 0.999..=least * ratio * 1.001).contains(it);
                    assert!(found.iter().all(is_inside), "{least} x {ratio}: {found:?}");
                }
            }
        }
        assert!(ticks(0.0, 1.0).is_empty() && ticks(2.0, 1.0).is_empty());
    }

    #[test]
    fn times_have_their_unit() {
        let texts = [0.25, 1.0, 12.5, 999.0, 1500.0, 2e6].map(time_text);
        assert_eq!(
            texts,
            ["250 ns", "1 us", "12.5 us", "999 us", "1.5 ms", "2 s"]
        );
    }
}
