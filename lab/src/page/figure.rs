//! A figure that a page shows, and where the results have it.

/// A figure of the results.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    /// The number of the report and a path in it, which together are a JSON pointer into the list of the reports
    /// without its first slash: `0/results/3/p50`.
    ///
    /// Source: RFC 6901, "JavaScript Object Notation (JSON) Pointer".
    pub(crate) place: String,
}

impl Figure {
    pub(crate) fn new(value: f64, place: String) -> Self {
        Self { value, place }
    }

    /// For people: four significant digits at least, and all digits in front of the point.
    pub(crate) fn text(&self) -> String {
        shown(self.value)
    }
}

/// Four significant digits at least, and all digits in front of the point, in groups of three.
pub(crate) fn shown(value: f64) -> String {
    let digits = match value.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        0.1.. => 4,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    if digits > 0 {
        return text;
    }
    let mut grouped = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_digits_to_compare() {
        let values = [
            0.012_34,
            0.987_65,
            9.876_5,
            12.345,
            123.456,
            1_234.5,
            12_345_678.0,
        ];
        assert_eq!(
            values.map(shown),
            [
                "0.01234",
                "0.9877",
                "9.877",
                "12.35",
                "123.5",
                "1,234",
                "12,345,678"
            ]
        );
    }
}
