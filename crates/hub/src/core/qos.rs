//! What a subscriber asks for: quality of service and the mode of its proxy.

use std::collections::BTreeMap;
use std::fmt;

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

/// Why wishes are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QosError {
    /// The reason for `BadQoS`.
    Bad(String),
    /// IceStorm answers it with an unknown exception.
    IllegalArgument(String),
}

impl fmt::Display for QosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(reason) | Self::IllegalArgument(reason) => f.write_str(reason),
        }
    }
}

impl Qos {
    /// What the text of a subscriber's wishes means for a proxy of this mode.
    ///
    /// # Errors
    /// [`QosError`], with the reasons in IceStorm's words where it has any.
    pub(crate) fn parse(
        qos: &BTreeMap<String, String>,
        mode: InvocationMode,
    ) -> Result<Self, QosError> {
        let text = |key: &str| qos.get(key).map_or("", String::as_str);
        let is_ordered = match text("reliability") {
            "" => false,
            "ordered" => true,
            other => return Err(QosError::Bad(format!("invalid reliability: {other}"))),
        };
        if is_ordered && mode != InvocationMode::Twoway {
            let reason = "ordered reliability requires a twoway proxy";
            return Err(QosError::Bad(reason.to_owned()));
        }
        let timeout = number(qos, "locatorCacheTimeout", "locator cache timeout")?;
        // -1 stands for no limit.
        if let Some(timeout @ ..-1) = timeout {
            return Err(QosError::IllegalArgument(format!(
                "invalid locatorCacheTimeout: expected -1 or more seconds, got {timeout}"
            )));
        }
        number(qos, "connectionCached", "connection cached setting")?;
        Ok(Self {
            delivery: Delivery::of(mode, is_ordered)?,
            retry_count: RetryCount::parse(text("retryCount")),
        })
    }
}

impl Delivery {
    fn of(mode: InvocationMode, is_ordered: bool) -> Result<Self, QosError> {
        match mode {
            InvocationMode::Twoway if is_ordered => Ok(Self::Twoway { outstanding_max: 1 }),
            InvocationMode::Twoway => Ok(Self::Twoway {
                outstanding_max: TWOWAY_OUTSTANDING_MAX,
            }),
            InvocationMode::Oneway => Ok(Self::Oneway),
            InvocationMode::BatchOneway => Ok(Self::Batch),
            InvocationMode::Datagram | InvocationMode::BatchDatagram => Err(QosError::Bad(
                "datagram delivery is not yet supported: expected a twoway, oneway or batch oneway \
                 proxy, got a datagram one; subscribe with ice_oneway()"
                    .to_owned(),
            )),
        }
    }
}

impl RetryCount {
    /// As IceStorm reads it: the number that the text begins with counts, 0 if there is none; -1
    /// is unlimited.
    fn parse(text: &str) -> Self {
        let text = text.trim_start();
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits = digits.chars().map_while(|character| character.to_digit(10));
        let count = digits.fold(0_u32, |count, digit| {
            count.saturating_mul(10).saturating_add(digit)
        });
        match (is_negative, count) {
            (false, count) => Self::Limited(count),
            (true, 1) => Self::Unlimited,
            (true, _) => Self::Limited(0),
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

/// The number that a key has, if it has any. `what` is IceStorm's name for it.
fn number(qos: &BTreeMap<String, String>, key: &str, what: &str) -> Result<Option<i32>, QosError> {
    let Some(text) = qos.get(key) else {
        return Ok(None);
    };
    let number = text.trim().parse();
    number.map(Some).map_err(|_| {
        let reason = format!("invalid {what} (numeric value required): {text}");
        QosError::Bad(reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)], mode: InvocationMode) -> Result<Qos, QosError> {
        let qos = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Qos::parse(&qos.collect(), mode)
    }

    fn twoway(pairs: &[(&str, &str)]) -> Result<Qos, QosError> {
        parse(pairs, InvocationMode::Twoway)
    }

    fn bad(reason: &str) -> QosError {
        QosError::Bad(reason.to_owned())
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
        assert_eq!(error, bad("invalid reliability: foo"));
        let error = parse(&[("reliability", "ordered")], InvocationMode::Oneway).unwrap_err();
        assert_eq!(error, bad("ordered reliability requires a twoway proxy"));
    }

    #[test]
    fn the_retry_count_is_read_as_icestorm_reads_it() {
        let retry_count = |text| twoway(&[("retryCount", text)]).unwrap().retry_count;
        assert_eq!(retry_count("-1"), RetryCount::Unlimited);
        assert_eq!(retry_count("3"), RetryCount::Limited(3));
        assert_eq!(retry_count("many"), RetryCount::Limited(0));
        assert_eq!(retry_count("-2"), RetryCount::Limited(0));
        assert_eq!(retry_count("3abc"), RetryCount::Limited(3));
        assert_eq!(retry_count(" +4 5"), RetryCount::Limited(4));
        assert_eq!(retry_count("-1x"), RetryCount::Unlimited);
        assert_eq!(retry_count("-12"), RetryCount::Limited(0));
        let many = "99999999999999999999";
        assert_eq!(retry_count(many), RetryCount::Limited(u32::MAX));
        assert_eq!(twoway(&[]).unwrap().retry_count, RetryCount::Limited(0));
    }

    #[test]
    fn numbers_are_checked_and_unknown_keys_ignored() {
        assert!(twoway(&[("locatorCacheTimeout", "10"), ("connectionCached", "0")]).is_ok());
        let error = twoway(&[("locatorCacheTimeout", "3x")]).unwrap_err();
        let expected = "invalid locator cache timeout (numeric value required): 3x";
        assert_eq!(error, bad(expected));
        let error = twoway(&[("connectionCached", "")]).unwrap_err();
        let expected = "invalid connection cached setting (numeric value required): ";
        assert_eq!(error, bad(expected));
        assert!(twoway(&[("colour", "blue")]).is_ok());
    }

    #[test]
    fn a_locator_cache_timeout_below_no_limit_is_an_illegal_argument() {
        assert!(twoway(&[("locatorCacheTimeout", "-1")]).is_ok());
        let error = twoway(&[("locatorCacheTimeout", "-5")]).unwrap_err();
        assert!(
            matches!(&error, QosError::IllegalArgument(reason) if reason.contains("got -5")),
            "{error:?}"
        );
    }

    #[test]
    fn datagram_subscribers_are_refused_with_the_way_out() {
        let error = parse(&[], InvocationMode::Datagram).unwrap_err();
        assert!(
            matches!(&error, QosError::Bad(reason)
                if reason.contains("not yet supported") && reason.contains("ice_oneway")),
            "{error:?}"
        );
        assert!(parse(&[], InvocationMode::BatchDatagram).is_err());
    }
}
