//! Reports as JSON, for programs and for records.

use serde_json::{Value, json};

use super::{CaseRatio, CaseResult, LeftOut, Report};

impl Report {
    /// The report as one JSON object; all scenarios have the same shape.
    ///
    /// ```text
    /// {"scenario", "environment": {..},
    ///  "results": [{"contender", "case", "unit", "count", "mean", "deviation", "min", "max", "p50", "p90", "p99", "p999",
    ///               "percentiles": [[percent, value], ..], "interval": [low, high], "encoded_len",
    ///               "rounds": [..], "mean_rounds": [..], "p99_rounds": [..], "service"}, ..],
    ///  "ratios":  [{"case", "of", "to", "median", "low", "high", "interval", "mean", "mean_low", "mean_high",
    ///               "mean_interval", "p99", "p99_low", "p99_high", "p99_interval"}, ..],
    ///  "left_out": [{"contender", "cases": [..], "reason", "failed"}, ..],
    ///  "notes":   [text, ..]}
    /// ```
    ///
    /// An `interval` is where the middle of the rounds lies with a confidence of 95 %, by a bootstrap of the rounds; it is
    /// `null` if there were fewer than three. `mean` to `percentiles` are those of all calls of all rounds. `rounds` holds the median of each round, or
    /// the mean over the subscribers in events a second, and `mean_rounds` and `p99_rounds` the `mean` and the `p99` of
    /// each. `service` is `null`, or what the service between publishers and subscribers needed:
    /// `{"cpu_us_per_delivery", "resident_mb", "subscriber_kb"}`. `encoded_len` is the number of bytes that were encoded or decoded, or
    /// `null`. A ratio is made of the quotients of two `rounds` of the same number: their median, and the quartiles
    /// below and above it; `mean` and `p99` with theirs are the same of `mean_rounds` and `p99_rounds`. `left_out` says
    /// which cases a contender does not offer, or that it cannot run here, and why; with `failed` true, in which round
    /// it failed and how. `notes` say what to know before reading the figures.
    pub fn to_json(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "environment": self.environment.to_json(),
            "results": self.results.iter().map(result).collect::<Vec<_>>(),
            "ratios": self.ratios.iter().map(ratio).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(LeftOut::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

fn result(result: &CaseResult) -> Value {
    json!({
        "contender": result.contender,
        "case": result.case,
        "unit": result.unit,
        "count": result.count,
        "mean": rounded(result.mean),
        "deviation": rounded(result.deviation),
        "min": rounded(result.min),
        "max": rounded(result.max),
        "p50": rounded(result.p50),
        "p90": rounded(result.p90),
        "p99": rounded(result.p99),
        "p999": rounded(result.p999),
        "percentiles": result.percentiles.iter()
            .map(|(percent, value)| json!([percent, rounded(*value)]))
            .collect::<Vec<_>>(),
        "interval": interval(result.interval),
        "encoded_len": result.encoded_len,
        "rounds": result.rounds.iter().copied().map(rounded).collect::<Vec<_>>(),
        "mean_rounds": result.mean_rounds.iter().copied().map(rounded).collect::<Vec<_>>(),
        "p99_rounds": result.p99_rounds.iter().copied().map(rounded).collect::<Vec<_>>(),
        "service": result.service.map(|service| json!({
            "cpu_us_per_delivery": rounded(service.cpu_per_delivery),
            "resident_mb": rounded(service.resident),
            "subscriber_kb": service.subscriber.map(rounded),
        })),
        "carried": result.carried.map(|carried| json!({
            "message_bytes": rounded(carried.messages),
            "line_bytes": rounded(carried.line),
        })),
    })
}

fn ratio(ratio: &CaseRatio) -> Value {
    json!({
        "case": ratio.case,
        "of": ratio.of,
        "to": ratio.to,
        "median": rounded(ratio.median.middle),
        "low": rounded(ratio.median.low),
        "high": rounded(ratio.median.high),
        "interval": interval(ratio.median.interval),
        "mean": rounded(ratio.mean.middle),
        "mean_low": rounded(ratio.mean.low),
        "mean_high": rounded(ratio.mean.high),
        "mean_interval": interval(ratio.mean.interval),
        "p99": rounded(ratio.p99.middle),
        "p99_low": rounded(ratio.p99.low),
        "p99_high": rounded(ratio.p99.high),
        "p99_interval": interval(ratio.p99.interval),
    })
}

fn interval(interval: Option<(f64, f64)>) -> Option<[f64; 2]> {
    interval.map(|(low, high)| [rounded(low), rounded(high)])
}

impl LeftOut {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "contender": self.contender,
            "cases": self.cases,
            "reason": self.reason,
            "failed": self.has_failed,
        })
    }
}

/// Five digits after the point: a hundredth of a nanosecond.
fn rounded(value: f64) -> f64 {
    (value * 100_000.0).round() / 100_000.0
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    fn keys(value: &Value) -> Vec<&str> {
        let object = value.as_object().unwrap();
        object.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_report_has_the_shape_that_is_promised() {
        let json = example().to_json();
        assert_eq!(
            keys(&json),
            [
                "scenario",
                "environment",
                "results",
                "ratios",
                "left_out",
                "notes"
            ]
        );
        assert_eq!(
            keys(&json["results"][0]),
            [
                "contender",
                "case",
                "unit",
                "count",
                "mean",
                "deviation",
                "min",
                "max",
                "p50",
                "p90",
                "p99",
                "p999",
                "percentiles",
                "interval",
                "encoded_len",
                "rounds",
                "mean_rounds",
                "p99_rounds",
                "service",
                "carried"
            ]
        );
        assert_eq!(
            keys(&json["ratios"][0]),
            [
                "case",
                "of",
                "to",
                "median",
                "low",
                "high",
                "interval",
                "mean",
                "mean_low",
                "mean_high",
                "mean_interval",
                "p99",
                "p99_low",
                "p99_high",
                "p99_interval"
            ]
        );
        assert_eq!(json["results"][1]["rounds"], json!([12.0, 23.0]));
        assert_eq!(json["results"][1]["mean_rounds"], json!([24.0, 46.0]));
        assert_eq!(json["results"][1]["p99_rounds"], json!([36.0, 46.0]));
        assert_eq!(json["ratios"][0]["median"], json!(1.175));
        assert_eq!(json["ratios"][0]["mean_low"], json!(1.1625));
        assert_eq!(json["ratios"][0]["p99_high"], json!(1.1875));
        let [left_out] = json["left_out"].as_array().unwrap().as_slice() else {
            panic!("expected one that is left out, got {json}");
        };
        assert_eq!(keys(left_out), ["contender", "cases", "reason", "failed"]);
        assert_eq!(left_out["cases"], json!(["twoway-poll"]));
        assert_eq!(left_out["failed"], json!(false));
    }
}
