//! From a value to a place in a plot, and the marks of an axis.

/// A logarithmic axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    /// Places of the two ends.
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis from one place to another that holds these values; whole powers of ten stand at its ends. Values that have
    /// no logarithm are ignored.
    pub(super) fn holding(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let values = values.filter(|value| *value > 0.0 && value.is_finite());
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        if high <= 0.0 {
            (low, high) = (1.0, 10.0);
        }
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        Self {
            low,
            high: high.max(low + 1.0),
            from,
            to,
        }
    }

    /// Where a value stands; what has no logarithm stands at the lower end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.from + (self.to - self.from) * share
    }

    /// The powers of ten of the axis, with their texts.
    pub(super) fn marks(&self) -> Vec<(f64, String)> {
        let exponents = self.low as i32..=self.high as i32;
        let step = 1 + exponents.clone().count() / 9;
        let marks = exponents.step_by(step).map(|exponent| {
            let value = 10_f64.powi(exponent);
            (value, power_of_ten(exponent))
        });
        marks.collect()
    }
}

/// A power of ten as people write it: `0.01`, `1`, `10k`, `1M`.
fn power_of_ten(exponent: i32) -> String {
    let value = 10_f64.powi(exponent);
    match exponent {
        6.. => format!("{}M", value / 1e6),
        3..=5 => format!("{}k", value / 1e3),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_between_the_powers_of_ten_around_them() {
        let scale = Scale::holding([2.0, 3_000.0, 0.0, f64::NAN].into_iter(), 0.0, 400.0);
        assert_eq!(scale.place(1.0), 0.0);
        assert!((scale.place(100.0) - 200.0).abs() < 1e-9);
        assert_eq!((scale.place(0.0), scale.place(f64::NAN)), (0.0, 0.0));
        let marks = scale.marks();
        let marks: Vec<_> = marks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(marks, ["1", "10", "100", "1k", "10k"]);
    }

    #[test]
    fn an_axis_of_nothing_has_still_two_ends() {
        let scale = Scale::holding(std::iter::empty(), 0.0, 10.0);
        assert_eq!(scale.marks().len(), 2);
        let scale = Scale::holding([10.0].into_iter(), 0.0, 10.0);
        assert_eq!(scale.place(10.0), 0.0);
    }
}
