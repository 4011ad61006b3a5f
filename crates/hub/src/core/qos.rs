//! The quality of service that a subscriber asks for, together with the mode of its proxy.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use floe::InvocationMode;

use super::durable::{PENDING_LIMIT, Reading};
use super::lifespan::LIFESPAN_KEY;
use super::limits::{OverflowPolicy, QueueLimits};
use super::window::{Window, WindowLimits};
use super::wishes::{Wishes, count, milliseconds, name, positive_milliseconds};

/// The number of requests in flight to a twoway subscriber at first, as in IceStorm. It grows automatically.
pub(crate) const TWOWAY_OUTSTANDING: usize = 5;

/// The maximum number, both if it grows and if the subscriber asks for it. If a connection breaks, that many events are
/// in doubt. A subscriber that reads a log alone may have [`PENDING_LIMIT`].
pub(crate) const OUTSTANDING_LIMIT: usize = 1024;

/// The longest name of a subscription that is pulled, in bytes.
const PULL_NAME_LEN_MAX: usize = 200;

/// The most events that one reply answers. With more, it would come much later than each event is taken.
const GROUP_MAX: usize = 64;
/// How long a subscription lasts by default without a program that pulls: its queue takes memory.
const PULL_IDLE_MAX: Duration = Duration::from_secs(600);

/// How events are delivered to a subscriber.
///
/// The keys that Floe adds begin with `floe.`; unknown keys are ignored, as in IceStorm.
///
/// Source: Ice manual, "IceStorm Quality of Service"; observed: IceStorm 3.7.8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Qos {
    /// How events are sent.
    pub(crate) delivery: DeliveryMode,
    /// The number of failures before the subscription ends.
    pub(crate) retry_count: RetryCount,
    /// True if the last connection is used again, without trying the other endpoints of the proxy. `None` keeps the
    /// setting of the proxy.
    pub(crate) is_connection_cached: Option<bool>,
    /// How long the locator's answer for a proxy without endpoints is valid; `Some(None)` is for ever. `None` keeps the
    /// setting of the proxy.
    pub(crate) locator_cache_timeout: Option<Option<Duration>>,
    /// Decides which events are lost when the queue is full. `None` uses the policy of the hub.
    pub(crate) overflow: Option<OverflowPolicy>,
    /// The maximum number of queued events, if lower than that of the hub.
    pub(crate) events_max: Option<usize>,
    /// The maximum bytes of queued events, if lower than that of the hub.
    pub(crate) bytes_max: Option<usize>,
    /// How long publishers may be held back for the subscriber, if shorter than in the hub.
    pub(crate) patience_max: Option<Duration>,
    /// The facet to notify of lost events, if the subscriber asked for it.
    pub(crate) lost_facet: Option<String>,
    /// How many events one reply of the subscriber may answer, at least 1.
    pub(crate) group: usize,
    /// The subscriber wants no older events than this.
    pub(crate) lifespan: Option<Duration>,
    /// How the subscriber reads the log of its topic; `None` if it gets events as they are published. Boxed, because most
    /// subscribers do not read.
    pub(crate) reading: Option<Box<Reading>>,
}

/// How events are sent to a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryMode {
    /// Sent immediately, without replies.
    Oneway,
    /// Collected for a while and sent in one message, without replies.
    Batch,
    /// Sent with replies, of which some may be outstanding; 1 keeps the order.
    Twoway {
        /// How many at first, and after trouble.
        outstanding: usize,
        /// How many at most.
        outstanding_max: usize,
    },
    /// All queued events in one call with a reply, one call at a time.
    Link,
    /// Not sent: programs pull them.
    Pull {
        /// The subscription ends if no program asks for events in this time.
        idle_max: Duration,
    },
}

/// The number of failures that are tolerated before a subscription ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryCount {
    /// This many.
    Limited(u32),
    /// Any number.
    Unlimited,
}

/// Why a quality of service is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QosError {
    /// The reason for `BadQoS`.
    Bad(String),
    /// IceStorm throws an unknown exception for this.
    IllegalArgument(String),
}

impl fmt::Display for QosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(reason) | Self::IllegalArgument(reason) => f.write_str(reason),
        }
    }
}

impl From<String> for QosError {
    fn from(reason: String) -> Self {
        Self::Bad(reason)
    }
}

impl Qos {
    /// Parses the quality of service that a subscriber asks for, for a proxy of this mode.
    ///
    /// # Errors
    /// [`QosError`], with the reasons in IceStorm's words where it has any.
    pub(crate) fn parse(
        qos: &BTreeMap<String, String>,
        mode: InvocationMode,
    ) -> Result<Self, QosError> {
        let ours = Wishes(qos);
        let text = |key: &str| ours.text(key).unwrap_or("");
        let is_ordered = match text("reliability") {
            "" => false,
            "ordered" => true,
            other => return Err(QosError::Bad(format!("invalid reliability: {other}"))),
        };
        let timeout = number(qos, "locatorCacheTimeout", "locator cache timeout")?;
        let timeout = timeout.map(cache_timeout).transpose()?;
        let cached = number(qos, "connectionCached", "connection cached setting")?;
        if is_ordered && mode != InvocationMode::Twoway {
            let reason = "ordered reliability requires a twoway proxy";
            return Err(QosError::Bad(reason.to_owned()));
        }
        let outstanding = ours.parsed("floe.outstanding", count)?;
        // They have an effect only if the subscription is pulled. Nonsense is refused by all.
        ours.parsed("floe.idle", milliseconds)?;
        ours.parsed("floe.pull", name(PULL_NAME_LEN_MAX))?;
        let mut reading = Reading::parse(qos)?;
        let lifespan = ours.parsed(LIFESPAN_KEY, positive_milliseconds)?;
        if let Some(reading) = &mut reading {
            reading.lifespan = lifespan;
        }
        if reading.is_some() && mode != InvocationMode::Twoway {
            let reason =
                "floe.durable and floe.from require a twoway proxy: its replies acknowledge events";
            return Err(QosError::Bad(reason.to_owned()));
        }
        let outstanding_limit = match &reading {
            // The log has its events: nothing is in doubt if the connection breaks.
            Some(reading) if !reading.is_shared => PENDING_LIMIT,
            _ => OUTSTANDING_LIMIT,
        };
        Ok(Self {
            is_connection_cached: cached.map(|cached| cached > 0),
            locator_cache_timeout: timeout,
            delivery: DeliveryMode::of(mode, is_ordered, outstanding, outstanding_limit),
            retry_count: RetryCount::parse(text("retryCount")),
            overflow: ours.parsed("floe.overflow", str::parse)?,
            events_max: ours.parsed("floe.queueEvents", count)?,
            bytes_max: ours.parsed("floe.queueBytes", count)?,
            patience_max: ours.parsed("floe.patience", milliseconds)?,
            lost_facet: ours.text("floe.lostFacet").map(str::to_owned),
            group: ours
                .parsed("floe.group", count)?
                .unwrap_or(1)
                .min(GROUP_MAX),
            lifespan,
            reading: reading.map(Box::new),
        })
    }

    /// Parses the quality of service of a subscription that is pulled from a queue. Also returns its name; `None` if it
    /// has none, because it is to be pulled from the log of its topic.
    ///
    /// # Errors
    /// [`QosError`].
    pub(crate) fn parse_pull(
        qos: &BTreeMap<String, String>,
    ) -> Result<Option<(String, Self)>, QosError> {
        let ours = Wishes(qos);
        if ours.text("floe.pull").is_none() {
            return Ok(None);
        }
        let parsed = Self::parse(qos, InvocationMode::Twoway)?;
        let Some(name) = ours.parsed("floe.pull", name(PULL_NAME_LEN_MAX))? else {
            return Ok(None);
        };
        if parsed.reading.is_some() {
            let reason = "invalid floe.pull: expected neither floe.durable nor floe.from beside it, got one of them";
            return Err(QosError::Bad(reason.to_owned()));
        }
        let idle_max = ours
            .parsed("floe.idle", milliseconds)?
            .unwrap_or(PULL_IDLE_MAX);
        let delivery = DeliveryMode::Pull { idle_max };
        Ok(Some((name, Self { delivery, ..parsed })))
    }

    /// The quality of service of a link to another topic.
    pub(crate) fn of_link() -> Self {
        Self {
            delivery: DeliveryMode::Link,
            retry_count: RetryCount::Unlimited,
            is_connection_cached: None,
            locator_cache_timeout: None,
            overflow: None,
            events_max: None,
            bytes_max: None,
            patience_max: None,
            lost_facet: None,
            group: 1,
            lifespan: None,
            reading: None,
        }
    }

    /// How many events may be in flight. Only a twoway subscriber has any.
    pub(crate) fn window(&self) -> Window {
        self.window_limits().into()
    }

    /// How many events may be in flight at first, and at most.
    pub(crate) fn window_limits(&self) -> WindowLimits {
        match self.delivery {
            DeliveryMode::Twoway {
                outstanding,
                outstanding_max,
            } => WindowLimits::new(outstanding, outstanding_max),
            DeliveryMode::Oneway
            | DeliveryMode::Batch
            | DeliveryMode::Link
            | DeliveryMode::Pull { .. } => WindowLimits::new(0, 0),
        }
    }

    /// The limits of the subscriber's queue: those that it asked for, within those of the hub.
    pub(crate) fn limits_within(&self, limits: QueueLimits) -> QueueLimits {
        let least = |wish: Option<usize>, limit: usize| wish.map_or(limit, |wish| wish.min(limit));
        QueueLimits {
            events: least(self.events_max, limits.events),
            bytes: least(self.bytes_max, limits.bytes),
            patience: self
                .patience_max
                .map_or(limits.patience, |wish| wish.min(limits.patience)),
            overflow: self.overflow.unwrap_or(limits.overflow),
        }
    }
}

impl DeliveryMode {
    /// Returns the mode of a twoway subscriber. `outstanding` is the number that the subscriber asked for. Ordered
    /// delivery takes precedence.
    fn of(
        mode: InvocationMode,
        is_ordered: bool,
        outstanding: Option<usize>,
        limit: usize,
    ) -> Self {
        match mode {
            InvocationMode::Twoway if is_ordered => Self::fixed(1),
            InvocationMode::Twoway => match outstanding {
                Some(wish) => Self::fixed(wish.min(limit)),
                None => Self::Twoway {
                    outstanding: TWOWAY_OUTSTANDING,
                    outstanding_max: limit,
                },
            },
            InvocationMode::Oneway | InvocationMode::Datagram => Self::Oneway,
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => Self::Batch,
        }
    }
}

impl DeliveryMode {
    /// A window of a fixed size.
    fn fixed(outstanding: usize) -> Self {
        Self::Twoway {
            outstanding,
            outstanding_max: outstanding,
        }
    }
}

impl RetryCount {
    /// Reads the number at the beginning of the text, as IceStorm does; 0 if there is none. -1 is unlimited.
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

    /// Returns true if one more failure is tolerated after this many.
    pub(crate) fn tolerates(self, failure_count: u32) -> bool {
        match self {
            Self::Limited(count) => failure_count < count,
            Self::Unlimited => true,
        }
    }
}

/// A number of seconds; -1 is no limit.
fn cache_timeout(seconds: i32) -> Result<Option<Duration>, QosError> {
    match u64::try_from(seconds) {
        Ok(seconds) => Ok(Some(Duration::from_secs(seconds))),
        Err(_) if seconds == -1 => Ok(None),
        Err(_) => Err(QosError::IllegalArgument(format!(
            "invalid locatorCacheTimeout: expected -1 or more seconds, got {seconds}"
        ))),
    }
}

/// Parses the number of a key, if it is set. `what` is IceStorm's name for it.
fn number(qos: &BTreeMap<String, String>, key: &str, what: &str) -> Result<Option<i32>, QosError> {
    let Some(text) = Wishes(qos).text(key) else {
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
    fn a_twoway_subscriber_begins_with_five_requests_in_flight_and_an_ordered_one_has_one() {
        let outstanding = |pairs| twoway(pairs).unwrap().delivery;
        let growing = DeliveryMode::Twoway {
            outstanding: 5,
            outstanding_max: OUTSTANDING_LIMIT,
        };
        assert_eq!(outstanding(&[]), growing);
        let ordered = outstanding(&[("reliability", "ordered")]);
        assert_eq!(ordered, DeliveryMode::fixed(1));
        assert_eq!(outstanding(&[("reliability", "")]), growing);
    }

    #[test]
    fn a_twoway_subscriber_may_ask_for_more_in_flight_within_a_limit() {
        let outstanding_max = |wish, reliability| {
            let wishes = [("floe.outstanding", wish), ("reliability", reliability)];
            twoway(&wishes).map(|qos| qos.delivery)
        };
        let twoway = |outstanding| Ok(DeliveryMode::fixed(outstanding));
        assert_eq!(outstanding_max("7", ""), twoway(7));
        assert_eq!(outstanding_max("1000000", ""), twoway(OUTSTANDING_LIMIT));
        assert_eq!(outstanding_max("7", "ordered"), twoway(1));
        let most = ("floe.outstanding", "1000000");
        for (pairs, expected) in [
            (&[most, ("floe.durable", "n")][..], PENDING_LIMIT),
            (&[most, ("floe.from", "new")], PENDING_LIMIT),
            (
                &[most, ("floe.durable", "n"), ("floe.shared", "yes")],
                OUTSTANDING_LIMIT,
            ),
        ] {
            let delivery = super::tests::twoway(pairs).map(|qos| qos.delivery);
            assert_eq!(delivery, twoway(expected), "{pairs:?}");
        }
        let expected = "invalid floe.outstanding: expected a number of at least 1, got \"0\"";
        assert_eq!(outstanding_max("0", ""), Err(bad(expected)));
    }

    #[test]
    fn a_subscriber_may_answer_events_in_groups_within_a_limit() {
        let group = |wish| twoway(&[("floe.group", wish)]).map(|qos| qos.group);
        assert_eq!(twoway(&[]).unwrap().group, 1);
        assert_eq!(group("7"), Ok(7));
        assert_eq!(group("1000000"), Ok(GROUP_MAX));
        for wrong in ["0", "-1", "many", ""] {
            let expected =
                format!("invalid floe.group: expected a number of at least 1, got {wrong:?}");
            assert_eq!(group(wrong), Err(bad(&expected)));
        }
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
    fn numbers_are_checked_and_unknown_keys_are_ignored() {
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
    fn the_connection_is_cached_if_the_number_is_positive() {
        let cached = |text| twoway(&[("connectionCached", text)]).unwrap();
        assert_eq!(cached("1").is_connection_cached, Some(true));
        assert_eq!(cached("0").is_connection_cached, Some(false));
        assert_eq!(cached("-1").is_connection_cached, Some(false));
        assert_eq!(twoway(&[]).unwrap().is_connection_cached, None);
    }

    #[test]
    fn a_locator_cache_timeout_below_minus_one_is_an_illegal_argument() {
        let timeout = |text| twoway(&[("locatorCacheTimeout", text)]).unwrap();
        let seconds = |count| Some(Some(Duration::from_secs(count)));
        assert_eq!(timeout("-1").locator_cache_timeout, Some(None));
        assert_eq!(timeout("0").locator_cache_timeout, seconds(0));
        assert_eq!(timeout("7").locator_cache_timeout, seconds(7));
        assert_eq!(twoway(&[]).unwrap().locator_cache_timeout, None);
        let error = twoway(&[("locatorCacheTimeout", "-5")]).unwrap_err();
        assert!(
            matches!(&error, QosError::IllegalArgument(reason) if reason.contains("got -5")),
            "{error:?}"
        );
    }

    #[test]
    fn datagram_subscribers_get_oneway_delivery() {
        let delivery = |mode| parse(&[], mode).unwrap().delivery;
        assert_eq!(delivery(InvocationMode::Datagram), DeliveryMode::Oneway);
        assert_eq!(delivery(InvocationMode::BatchDatagram), DeliveryMode::Batch);
    }

    #[test]
    fn a_subscriber_chooses_its_policy_and_may_ask_for_a_shorter_queue() {
        let hub = QueueLimits::default();
        let qos = twoway(&[("floe.overflow", "block"), ("floe.queueEvents", "7")]).unwrap();
        let expected = QueueLimits {
            events: 7,
            bytes: hub.bytes,
            patience: hub.patience,
            overflow: OverflowPolicy::Block,
        };
        assert_eq!(qos.limits_within(hub), expected);
        let huge = usize::MAX.to_string();
        let wishes = [
            ("floe.queueBytes", huge.as_str()),
            ("floe.queueEvents", &huge),
            ("floe.patience", "3600000"),
        ];
        let qos = twoway(&wishes).unwrap();
        assert_eq!(qos.limits_within(hub), hub, "the hub's limits stand");
        let qos = twoway(&[("floe.patience", "20")]).unwrap();
        let expected = Duration::from_millis(20);
        assert_eq!(qos.limits_within(hub).patience, expected);
    }

    #[test]
    fn a_wrong_value_of_a_floe_key_is_refused_with_what_was_expected() {
        let error = twoway(&[("floe.overflow", "drop")]).unwrap_err();
        let expected = "invalid floe.overflow: expected block, drop-oldest, drop-newest or disconnect, got \"drop\"";
        assert_eq!(error, bad(expected));
        let error = twoway(&[("floe.patience", "1s")]).unwrap_err();
        let expected = "invalid floe.patience: expected a number of milliseconds, got \"1s\"";
        assert_eq!(error, bad(expected));
        let error = twoway(&[("floe.queueEvents", "0")]).unwrap_err();
        let expected = "invalid floe.queueEvents: expected a number of at least 1, got \"0\"";
        assert_eq!(error, bad(expected));
    }
}
