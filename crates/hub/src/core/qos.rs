//! What a subscriber asks for: quality of service and the mode of its proxy.

use std::collections::BTreeMap;

use floe::InvocationMode;

/// Requests to a twoway subscriber that may be unanswered at a time, as in IceStorm.
pub(crate) const TWOWAY_OUTSTANDING_MAX: usize = 5;

/// How events are delivered to a subscriber.
///
/// Unknown keys are ignored, as by IceStorm. `locatorCacheTimeout` and `connectionCached` are
/// checked but change nothing: they concern locators, which the runtime does not support yet.
///
/// Source: Ice manual, "IceStorm Quality of Service"; observed: IceStorm 3.7.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Qos {
    /// How requests are sent.
    pub(crate) delivery: Delivery,
    /// Failures before the subscription ends.
    pub(crate) retry_count: RetryCount,
}

/// How requests are sent to a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Sent at once, not answered.
    Oneway,
    /// Collected for a while, sent as one message, not answered.
    Batch,
    /// Answered, with at most this many answers outstanding; 1 keeps the order.
    Twoway {
        /// The limit.
        outstanding_max: usize,
    },
}

/// Failures that are tolerated before a subscription ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryCount {
    /// This many.
    Limited(u32),
    /// Any number.
    Unlimited,
}

impl Qos {
    /// What the text of a subscriber's wishes means for a proxy of this mode.
    ///
    /// # Errors
    /// The reason for `BadQoS`.
    pub(crate) fn parse(
        qos: &BTreeMap<String, String>,
        mode: InvocationMode,
    ) -> Result<Self, String> {
        let text = |key: &str| qos.get(key).map_or("", String::as_str);
        let is_ordered = match text("reliability") {
            "" => false,
            "ordered" => true,
            other => return Err(format!("invalid reliability: {other}")),
        };
        if is_ordered && mode != InvocationMode::Twoway {
            return Err("ordered reliability requires a twoway proxy".to_owned());
        }
        check_number(qos, "locatorCacheTimeout")?;
        check_number(qos, "connectionCached")?;
        Ok(Self {
            delivery: Delivery::of(mode, is_ordered)?,
            retry_count: RetryCount::parse(text("retryCount")),
        })
    }
}

impl Delivery {
    fn of(mode: InvocationMode, is_ordered: bool) -> Result<Self, String> {
        match mode {
            InvocationMode::Twoway if is_ordered => Ok(Self::Twoway { outstanding_max: 1 }),
            InvocationMode::Twoway => Ok(Self::Twoway {
                outstanding_max: TWOWAY_OUTSTANDING_MAX,
            }),
            InvocationMode::Oneway => Ok(Self::Oneway),
            InvocationMode::BatchOneway => Ok(Self::Batch),
            InvocationMode::Datagram | InvocationMode::BatchDatagram => Err(
                "datagram delivery is not yet supported: expected a twoway, oneway or batch oneway \
                 proxy, got a datagram one; subscribe with ice_oneway()"
                    .to_owned(),
            ),
        }
    }
}

impl RetryCount {
    /// As IceStorm reads it: -1 is unlimited, what is no number is 0.
    fn parse(text: &str) -> Self {
        match text.trim().parse::<i64>() {
            Ok(-1) => Self::Unlimited,
            Ok(count) => Self::Limited(count.clamp(0, u32::MAX.into()) as u32),
            Err(_) => Self::Limited(0),
        }
    }

    /// Whether one more failure is tolerated after this many.
    pub(super) fn tolerates(self, failure_count: u32) -> bool {
        match self {
            Self::Limited(count) => failure_count < count,
            Self::Unlimited => true,
        }
    }
}

fn check_number(qos: &BTreeMap<String, String>, key: &str) -> Result<(), String> {
    match qos.get(key) {
        Some(text) if text.trim().parse::<i32>().is_err() => Err(format!(
            "invalid {key}: expected an integer, got \"{text}\""
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)], mode: InvocationMode) -> Result<Qos, String> {
        let qos = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Qos::parse(&qos.collect(), mode)
    }

    fn twoway(pairs: &[(&str, &str)]) -> Result<Qos, String> {
        parse(pairs, InvocationMode::Twoway)
    }

    #[test]
    fn a_twoway_subscriber_has_five_requests_in_flight_and_an_ordered_one_has_one() {
        let outstanding = |pairs| twoway(pairs).unwrap().delivery;
        assert_eq!(outstanding(&[]), Delivery::Twoway { outstanding_max: 5 });
        let ordered = outstanding(&[("reliability", "ordered")]);
        assert_eq!(ordered, Delivery::Twoway { outstanding_max: 1 });
        let empty = outstanding(&[("reliability", "")]);
        assert_eq!(empty, Delivery::Twoway { outstanding_max: 5 });
    }

    #[test]
    fn a_wrong_reliability_is_refused_in_the_words_of_icestorm() {
        let error = twoway(&[("reliability", "foo")]).unwrap_err();
        assert_eq!(error, "invalid reliability: foo");
        let error = parse(&[("reliability", "ordered")], InvocationMode::Oneway).unwrap_err();
        assert_eq!(error, "ordered reliability requires a twoway proxy");
    }

    #[test]
    fn the_retry_count_is_read_as_icestorm_reads_it() {
        let retry_count = |text| twoway(&[("retryCount", text)]).unwrap().retry_count;
        assert_eq!(retry_count("-1"), RetryCount::Unlimited);
        assert_eq!(retry_count("3"), RetryCount::Limited(3));
        assert_eq!(retry_count("many"), RetryCount::Limited(0));
        assert_eq!(retry_count("-2"), RetryCount::Limited(0));
        assert_eq!(twoway(&[]).unwrap().retry_count, RetryCount::Limited(0));
    }

    #[test]
    fn numbers_are_checked_and_unknown_keys_ignored() {
        assert!(twoway(&[("locatorCacheTimeout", "10"), ("connectionCached", "0")]).is_ok());
        assert!(twoway(&[("locatorCacheTimeout", "x")]).is_err());
        assert!(twoway(&[("connectionCached", "")]).is_err());
        assert!(twoway(&[("colour", "blue")]).is_ok());
    }

    #[test]
    fn datagram_subscribers_are_refused_with_the_way_out() {
        let error = parse(&[], InvocationMode::Datagram).unwrap_err();
        assert!(
            error.contains("not yet supported") && error.contains("ice_oneway"),
            "{error}"
        );
        assert!(parse(&[], InvocationMode::BatchDatagram).is_err());
    }
}
