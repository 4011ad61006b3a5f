//! The measurements of one client in one round, as text for a pipe.

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::time::Duration;

/// Durations of calls, to three digits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// In picoseconds: some things take less than a few nanoseconds, on the mean of many.
    histogram: Histogram<u64>,
    /// Calls of the warm-up: they have no figures, but a service worked for them, too.
    pub(crate) warm_up: u64,
    /// The bytes that were encoded or decoded, if that was measured.
    pub(crate) encoded: Option<Encoded>,
    /// The cost of the service between publishers and subscribers, if there is one.
    pub(crate) service: Option<ServiceUse>,
    /// The bytes that a slow line has carried, if there was one.
    pub(crate) carried: Option<Carried>,
}

/// Bytes that a slow line has carried in both directions since it was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    /// In the messages, without the headers of TCP and of what is below.
    pub(crate) messages: u64,
    /// At the device: frames of Ethernet.
    pub(crate) line: u64,
    /// True if a relay of the lab was the line. Then the bytes at the device are estimated.
    pub(crate) is_relayed: bool,
}

impl Carried {
    /// Returns the bytes that were carried since an earlier look.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            messages: self.messages.saturating_sub(before.messages),
            line: self.line.saturating_sub(before.line),
            is_relayed: self.is_relayed,
        }
    }
}

/// The cost of a service in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ServiceUse {
    /// Time of the processor, of all threads.
    pub(crate) cpu: Duration,
    /// Events that it handed to subscribers.
    pub(crate) deliveries: u64,
    /// Bytes of memory that were resident at the end.
    pub(crate) resident: u64,
    /// The share of the memory that the subscribers added, if that was measured.
    pub(crate) of_subscribers: Option<OfSubscribers>,
}

/// Memory that a service needs for its subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfSubscribers {
    /// Resident with all subscribers, without those that were resident before the first one.
    pub(crate) bytes: u64,
    pub(crate) count: u64,
}

/// The fingerprint of an encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// Bytes.
    pub(crate) len: u64,
    /// FNV-1a of them, 64 bits, as 16 hexadecimal digits.
    pub(crate) digest: String,
}

impl Encoded {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // Source: RFC 9923, "The FNV Non-Cryptographic Hash Algorithm".
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
        Self {
            len: bytes.len() as u64,
            digest: format!("{digest:016x}"),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let digest = value.get("digest")?.as_str()?.to_owned();
        let len = value.get("len")?.as_u64()?;
        Some(Self { len, digest })
    }
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self {
            histogram: Histogram::new(DIGITS).expect("three digits are allowed"),
            warm_up: 0,
            encoded: None,
            service: None,
            carried: None,
        }
    }

    /// Counts `count` calls of `nanoseconds` each.
    pub(crate) fn record(&mut self, nanoseconds: f64, count: u64) {
        // Beyond the range of the integer is beyond what a clock measures.
        let picoseconds = (nanoseconds * PICOSECONDS).round() as u64;
        // The histogram grows by itself; it refuses only what no clock measures.
        let _ = self.histogram.record_n(picoseconds, count);
    }

    /// Adds the calls of another round.
    pub(crate) fn add(&mut self, other: &Self) {
        // As above.
        let _ = self.histogram.add(&other.histogram);
    }

    /// Calls.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// In nanoseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.histogram.mean() / PICOSECONDS
    }

    /// Standard deviation, in nanoseconds.
    pub(crate) fn deviation(&self) -> f64 {
        self.histogram.stdev() / PICOSECONDS
    }

    /// The duration that this share of the calls does not exceed, in nanoseconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64 / PICOSECONDS
    }

    /// One line of JSON: `{"calls": [[nanoseconds, count], ..]}`, what was encoded, and the calls of the warm-up.
    pub(crate) fn to_line(&self) -> String {
        self.to_json().to_string()
    }

    fn to_json(&self) -> Value {
        let recorded = self.histogram.iter_recorded();
        let calls: Vec<Value> = recorded
            .map(|step| {
                let nanoseconds = step.value_iterated_to() as f64 / PICOSECONDS;
                json!([nanoseconds, step.count_at_value()])
            })
            .collect();
        let mut line = json!({ "calls": calls });
        if let Some(Encoded { len, digest }) = &self.encoded {
            line["encoded"] = json!({"len": len, "digest": digest});
        }
        if self.warm_up > 0 {
            line["warm_up"] = json!(self.warm_up);
        }
        line
    }

    /// The same, with how many events a subscriber got.
    pub(crate) fn to_delivered_line(&self, delivered: u64) -> String {
        let mut line = self.to_json();
        line["delivered"] = json!(delivered);
        line.to_string()
    }

    /// Reads what [`Sample::to_delivered_line`] wrote, or a contender in another language.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(crate) fn from_delivered_line(line: &str) -> Result<(Self, u64), String> {
        let sample = Self::from_line(line)?;
        let value: Option<Value> = serde_json::from_str(line).ok();
        let delivered = value.and_then(|value| value.get("delivered")?.as_u64());
        let delivered = delivered.ok_or("expected the number of events that were delivered")?;
        Ok((sample, delivered))
    }

    /// All that is known of a round, for a file.
    pub(crate) fn to_record(&self) -> Value {
        let mut record = self.to_json();
        if let Some(service) = &self.service {
            record["service"] = json!({
                "cpu_us": service.cpu.as_micros() as u64,
                "deliveries": service.deliveries,
                "resident": service.resident,
            });
            if let Some(OfSubscribers { bytes, count }) = service.of_subscribers {
                record["service"]["of_subscribers"] = json!({"bytes": bytes, "count": count});
            }
        }
        if let Some(Carried {
            messages,
            line,
            is_relayed,
        }) = self.carried
        {
            record["carried"] =
                json!({"messages": messages, "line": line, "is_relayed": is_relayed});
        }
        record
    }

    /// Reads what [`Sample::to_record`] made.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn from_record(record: &Value) -> Result<Self, String> {
        let mut sample = Self::from_line(&record.to_string())?;
        let number = |place: &str| record.pointer(place).and_then(Value::as_u64);
        let of_subscribers = number("/service/of_subscribers/bytes");
        let of_subscribers = of_subscribers.zip(number("/service/of_subscribers/count"));
        let service = number("/service/cpu_us").zip(number("/service/deliveries"));
        let service = service.zip(number("/service/resident"));
        sample.service = service.map(|((cpu, deliveries), resident)| ServiceUse {
            cpu: Duration::from_micros(cpu),
            deliveries,
            resident,
            of_subscribers: of_subscribers.map(|(bytes, count)| OfSubscribers { bytes, count }),
        });
        let is_relayed = record
            .pointer("/carried/is_relayed")
            .and_then(Value::as_bool);
        let carried = number("/carried/messages").zip(number("/carried/line"));
        sample.carried = carried
            .zip(is_relayed)
            .map(|((messages, line), is_relayed)| Carried {
                messages,
                line,
                is_relayed,
            });
        Ok(sample)
    }

    /// Reads what [`Sample::to_line`] wrote, or a contender in another language.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(crate) fn from_line(line: &str) -> Result<Self, String> {
        let wrong = || {
            let start: String = line.chars().take(80).collect();
            format!("expected {{\"calls\": [[nanoseconds, count], ..]}}, got \"{start}\"")
        };
        let value: Value = serde_json::from_str(line).map_err(|_| wrong())?;
        let calls = value.get("calls").and_then(Value::as_array);
        let mut sample = Self::new();
        for call in calls.ok_or_else(wrong)? {
            let nanoseconds = call.get(0).and_then(Value::as_f64);
            let count = call.get(1).and_then(Value::as_u64);
            let (Some(nanoseconds @ 0.0..), Some(count)) = (nanoseconds, count) else {
                return Err(wrong());
            };
            sample.record(nanoseconds, count);
        }
        if sample.count() == 0 {
            return Err("expected at least one call, got none".to_owned());
        }
        sample.encoded = value.get("encoded").and_then(Encoded::from_json);
        let warm_up = value.get("warm_up").and_then(Value::as_u64);
        sample.warm_up = warm_up.unwrap_or(0);
        Ok(sample)
    }
}

/// In a nanosecond.
const PICOSECONDS: f64 = 1_000.0;

/// Significant digits that are kept.
const DIGITS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_survives_the_pipe() {
        let mut sample = Sample::new();
        for nanoseconds in (1..2_000_000).step_by(777) {
            sample.record(f64::from(nanoseconds), 1 + u64::from(nanoseconds % 3_u32));
        }
        sample.encoded = Some(Encoded::of(b"abc"));
        sample.warm_up = 12;
        let received = Sample::from_line(&sample.to_line()).unwrap();
        assert_eq!(received.encoded, sample.encoded);
        assert_eq!(received.warm_up, 12);
        assert_eq!(received.count(), sample.count());
        for share in [0.5, 0.99, 1.0] {
            assert_eq!(received.quantile(share), sample.quantile(share));
        }
        assert!((received.mean() / sample.mean() - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_sample_survives_a_file_with_what_its_service_needed() {
        let mut sample = Sample::new();
        sample.record(1_234.5, 7);
        assert_eq!(
            Sample::from_record(&sample.to_record()).unwrap().service,
            None
        );
        sample.service = Some(ServiceUse {
            cpu: Duration::from_millis(30),
            deliveries: 12,
            resident: 4_096,
            of_subscribers: Some(OfSubscribers {
                bytes: 1_024,
                count: 10,
            }),
        });
        let read = Sample::from_record(&sample.to_record()).unwrap();
        assert_eq!(read.service, sample.service);
        assert_eq!(read.quantile(0.5), sample.quantile(0.5));
    }

    #[test]
    fn a_sample_survives_a_file_with_the_bytes_of_its_line() {
        let mut sample = Sample::new();
        sample.record(1_234.5, 7);
        for is_relayed in [false, true] {
            sample.carried = Some(Carried {
                messages: 12_345,
                line: 13_000,
                is_relayed,
            });
            let read = Sample::from_record(&sample.to_record()).unwrap();
            assert_eq!(read.carried, sample.carried);
        }
    }

    #[test]
    fn rounds_add_up() {
        let mut all = Sample::new();
        all.record(1_000.0, 3);
        let mut other = Sample::new();
        other.record(3_000.0, 1);
        all.add(&other);
        assert_eq!(all.count(), 4);
        assert!((all.mean() / 1_500.0 - 1.0).abs() < 0.001);
    }

    #[test]
    fn less_than_a_nanosecond_is_not_lost() {
        let sample = Sample::from_line("{\"calls\": [[0.75, 1000]]}").unwrap();
        assert!((sample.quantile(0.5) - 0.75).abs() < 0.001);
    }

    #[test]
    fn digests_are_those_of_the_published_function() {
        assert_eq!(Encoded::of(b"").digest, "cbf29ce484222325");
        assert_eq!(Encoded::of(b"a").digest, "af63dc4c8601ec8c");
        assert_eq!(Encoded::of(b"foobar").digest, "85944171f73967e8");
    }

    #[test]
    fn a_wrong_line_is_shown() {
        for line in [
            "",
            "hello",
            "{}",
            "{\"calls\":[[1]]}",
            "{\"calls\":[[-1,2]]}",
        ] {
            let error = Sample::from_line(line).unwrap_err();
            assert!(error.contains("expected {\"calls\""), "{error}");
        }
        let error = Sample::from_line("{\"calls\":[]}").unwrap_err();
        assert!(error.contains("at least one call"), "{error}");
    }
}
