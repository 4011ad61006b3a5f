//! Reads reports that a run has written as JSON.

use serde_json::{Map, Value};

use super::{
    CarriedBytes, CaseRatio, CaseResult, Environment, LeftOut, Quotients, Report, ServiceCost,
};
use crate::scenario::Unit;

impl Report {
    /// Reads the reports in a text: JSON objects that follow one another, such as one a line.
    ///
    /// # Errors
    /// What was expected, where, and what came; a text without a report.
    pub fn read_all(text: &str) -> Result<Vec<Self>, String> {
        let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let reports = values.map(|value| {
            let value = value.map_err(|error| format!("expected JSON, got {error}"))?;
            Self::from_json(&value)
        });
        let reports = reports.collect::<Result<Vec<_>, _>>()?;
        if reports.is_empty() {
            return Err("expected the JSON of a run of the lab, got nothing".to_owned());
        }
        Ok(reports)
    }

    /// Reads what [`Report::to_json`] wrote. Members that it does not know are ignored.
    ///
    /// # Errors
    /// What was expected, where, and what came.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        let report = Object::new(json, "report")?;
        Ok(Self {
            scenario: report.text("scenario")?,
            environment: Environment::from_json(report.member("environment")?)?,
            results: report.list("results", result)?,
            ratios: report.list("ratios", ratio)?,
            left_out: report.list("left_out", LeftOut::from_json)?,
            notes: report.list("notes", |note, place| text(note, place).map(str::to_owned))?,
        })
    }
}

fn result(json: &Value, place: &str) -> Result<CaseResult, String> {
    let result = Object::new(json, place)?;
    let unit = result.text("unit")?;
    let unit = Unit::named(&unit)
        .ok_or_else(|| format!("expected a unit that the lab knows in {place}, got \"{unit}\""))?;
    Ok(CaseResult {
        contender: result.text("contender")?,
        case: result.text("case")?,
        unit: unit.name(),
        count: result.count("count")?,
        encoded_len: result.member("encoded_len")?.as_u64(),
        mean: result.number("mean")?,
        p50: result.number("p50")?,
        p90: result.number("p90")?,
        p99: result.number("p99")?,
        p999: result.number("p999")?,
        min: result.number("min")?,
        max: result.number("max")?,
        deviation: result.number("deviation")?,
        percentiles: result.list("percentiles", pair)?,
        interval: result.interval("interval")?,
        rounds: result.list("rounds", number)?,
        mean_rounds: result.list("mean_rounds", number)?,
        p99_rounds: result.list("p99_rounds", number)?,
        service: match result.member("service")? {
            Value::Null => None,
            service => {
                let service = Object::new(service, place)?;
                Some(ServiceCost {
                    cpu_per_delivery: service.number("cpu_us_per_delivery")?,
                    resident: service.number("resident_mb")?,
                    subscriber: service.member("subscriber_kb")?.as_f64(),
                })
            }
        },
        // Reports of earlier versions have no such member.
        carried: match json.get("carried") {
            None | Some(Value::Null) => None,
            Some(carried) => {
                let carried = Object::new(carried, place)?;
                Some(CarriedBytes {
                    messages: carried.number("message_bytes")?,
                    line: carried.number("line_bytes")?,
                })
            }
        },
    })
}

fn ratio(json: &Value, place: &str) -> Result<CaseRatio, String> {
    let ratio = Object::new(json, place)?;
    let quotients = |middle: &str, low: &str, high: &str, interval: &str| {
        Ok::<_, String>(Quotients {
            middle: ratio.number(middle)?,
            low: ratio.number(low)?,
            high: ratio.number(high)?,
            interval: ratio.interval(interval)?,
        })
    };
    Ok(CaseRatio {
        case: ratio.text("case")?,
        of: ratio.text("of")?,
        to: ratio.text("to")?,
        median: quotients("median", "low", "high", "interval")?,
        mean: quotients("mean", "mean_low", "mean_high", "mean_interval")?,
        p99: quotients("p99", "p99_low", "p99_high", "p99_interval")?,
    })
}

impl LeftOut {
    /// Reads what [`LeftOut::to_json`] wrote.
    pub(crate) fn from_json(json: &Value, place: &str) -> Result<Self, String> {
        let left_out = Object::new(json, place)?;
        Ok(Self {
            contender: left_out.text("contender")?,
            cases: left_out.list("cases", |case, place| text(case, place).map(str::to_owned))?,
            reason: left_out.text("reason")?,
            has_failed: left_out.flag("failed")?,
        })
    }
}

/// An object, and where it stands.
pub(crate) struct Object<'a>(&'a Map<String, Value>, String);

impl<'a> Object<'a> {
    pub(crate) fn new(json: &'a Value, place: &str) -> Result<Self, String> {
        let object = json.as_object();
        let object = object.ok_or_else(|| expected("an object", place, json))?;
        Ok(Self(object, place.to_owned()))
    }

    fn member(&self, name: &str) -> Result<&'a Value, String> {
        let member = self.0.get(name);
        member.ok_or_else(|| format!("expected the member \"{name}\" in {}, got none", self.1))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Self, String> {
        Object::new(self.member(name)?, &self.place(name))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.0.iter()
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        text(self.member(name)?, &self.place(name)).map(str::to_owned)
    }

    pub(crate) fn number(&self, name: &str) -> Result<f64, String> {
        number(self.member(name)?, &self.place(name))
    }

    pub(crate) fn count(&self, name: &str) -> Result<u64, String> {
        let member = self.member(name)?;
        let count = member.as_u64();
        count.ok_or_else(|| expected("a count", &self.place(name), member))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        let member = self.member(name)?;
        let flag = member.as_bool();
        flag.ok_or_else(|| expected("true or false", &self.place(name), member))
    }

    pub(crate) fn list<T>(
        &self,
        name: &str,
        read: impl Fn(&Value, &str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let member = self.member(name)?;
        let list = member.as_array();
        let list = list.ok_or_else(|| expected("a list", &self.place(name), member))?;
        let items = list.iter().enumerate();
        items
            .map(|(index, item)| read(item, &format!("{}[{index}]", self.place(name))))
            .collect()
    }

    fn interval(&self, name: &str) -> Result<Option<(f64, f64)>, String> {
        match self.member(name)? {
            Value::Null => Ok(None),
            json => pair(json, &self.place(name)).map(Some),
        }
    }

    fn place(&self, name: &str) -> String {
        format!("{}.{name}", self.1)
    }
}

fn text<'a>(json: &'a Value, place: &str) -> Result<&'a str, String> {
    json.as_str().ok_or_else(|| expected("a text", place, json))
}

fn number(json: &Value, place: &str) -> Result<f64, String> {
    json.as_f64()
        .ok_or_else(|| expected("a number", place, json))
}

fn pair(json: &Value, place: &str) -> Result<(f64, f64), String> {
    let ends = json.as_array().map(Vec::as_slice);
    let Some([low, high]) = ends else {
        return Err(expected("two numbers", place, json));
    };
    Ok((number(low, place)?, number(high, place)?))
}

fn expected(what: &str, place: &str, got: &Value) -> String {
    let got: String = got.to_string().chars().take(60).collect();
    format!("expected {what} in {place}, got {got}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::example;
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let written = example().to_json();
        let read = Report::from_json(&written).unwrap();
        assert_eq!(read.to_json(), written);
        assert_eq!(read.results, example().results);
    }

    #[test]
    fn reports_follow_one_another_in_a_text() {
        let written = example().to_json();
        let read = Report::read_all(&format!("{written}\n{written:#}\n")).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[1].to_json(), written);
        let nothing = Report::read_all(" \n").unwrap_err();
        assert!(nothing.ends_with("got nothing"), "{nothing}");
        let error = Report::read_all(&written.to_string().replace(':', "=")).unwrap_err();
        assert!(error.starts_with("expected JSON, got "), "{error}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let mut written = example().to_json();
        written["results"][1]["rounds"][0] = json!("fast");
        let error = Report::from_json(&written).unwrap_err();
        assert_eq!(
            error,
            "expected a number in report.results[1].rounds[0], got \"fast\""
        );
        written["results"][1]["unit"] = json!("miles");
        let error = Report::from_json(&written).unwrap_err();
        assert!(
            error.ends_with("report.results[1], got \"miles\""),
            "{error}"
        );
        let error = Report::from_json(&json!([1])).unwrap_err();
        assert_eq!(error, "expected an object in report, got [1]");
        let error = Report::from_json(&json!({})).unwrap_err();
        assert!(error.contains("\"scenario\" in report"), "{error}");
    }
}
