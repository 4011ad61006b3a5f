//! The limits of a whole hub, and what it says when one is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How much all clients of a hub together may make it keep.
///
/// In a `floe.toml` they are the table `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubLimits {
    /// Topics. Default 100,000.
    pub topics: usize,
    /// Subscriptions to all topics together. Default 100,000.
    pub subscriptions: usize,
    /// Topics that one user has created, if the hub has rules and knows the user. Default 50,000, so that no user takes all.
    pub topics_per_user: usize,
    /// Subscriptions that one user has made. Default 50,000.
    pub subscriptions_per_user: usize,
    /// Durable topics that one user has created. Default 2,500.
    pub durable_topics_per_user: usize,
    /// Durable subscriptions that one user has begun, those without a subscriber included. Default 5,000.
    pub durable_subscriptions_per_user: usize,
    /// Open connections over which one user has shown its name. Default 32,768, half of all connections.
    pub connections_per_user: usize,
    /// Links of all topics together. Default 10,000.
    pub links: usize,
    /// Topics with a log on disk, which count among the topics, too. Each takes two open files and a folder. Default 5,000.
    pub durable_topics: usize,
    /// Durable subscriptions of all topics together, those without a subscriber included. Each takes an open file. Default 10,000.
    pub durable_subscriptions: usize,
    /// Bytes of the events that all subscribers hold together: in queues, where subscribers of a topic share them, and on
    /// their way to each subscriber. Beyond it, the longest queues become shorter. Default 1 GiB. It is checked several
    /// times a second, so that it may be exceeded for a moment.
    pub queue_bytes: usize,
    /// Publishers with numbered events that all durable topics and histories remember together, to store what they send again
    /// once. Each takes about half a kilobyte. Beyond it, a topic forgets the one that was silent longest, but for 100 that each
    /// may have. Default 50,000.
    pub publisher_names: usize,
    /// Entries in the quality of service of a subscription. Unknown ones are ignored and kept, as in IceStorm, and count.
    /// Default 64.
    pub qos_entries: usize,
    /// Bytes of the keys and values in the quality of service of a subscription. Default 4 KiB.
    pub qos_bytes: usize,
    /// Bytes of the encoded proxy of a subscriber. Default 8 KiB.
    pub proxy_bytes: usize,
    /// Endpoints of the proxy of a subscriber. Default 64: a host with many addresses has one for each.
    pub proxy_endpoints: usize,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self {
            topics: 100_000,
            subscriptions: 100_000,
            topics_per_user: 50_000,
            subscriptions_per_user: 50_000,
            durable_topics_per_user: 2_500,
            durable_subscriptions_per_user: 5_000,
            connections_per_user: 32 * 1024,
            links: 10_000,
            durable_topics: 5_000,
            durable_subscriptions: 10_000,
            queue_bytes: 1024 * 1024 * 1024,
            publisher_names: 50_000,
            qos_entries: 64,
            qos_bytes: 4 * 1024,
            proxy_bytes: 8 * 1024,
            proxy_endpoints: 64,
        }
    }
}

/// The numbers of the things that a hub limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) topics: usize,
    pub(crate) subscriptions: usize,
    pub(crate) links: usize,
    pub(crate) durable_topics: usize,
    pub(crate) durable_subscriptions: usize,
    /// Bytes of queued events.
    pub(crate) queue_bytes: usize,
    /// Publishers that topics remember.
    pub(crate) publisher_names: usize,
}

impl Usage {
    /// Checks that there may be one more topic.
    pub(crate) fn check_topics(&self, limits: &HubLimits) -> Result<(), LimitReached> {
        check("topics", "limits.topics", self.topics, limits.topics)
    }

    /// Returns these numbers without this many subscriptions, which are about to end.
    pub(crate) fn without_subscriptions(self, count: usize) -> Self {
        Self {
            subscriptions: self.subscriptions.saturating_sub(count),
            ..self
        }
    }

    /// Checks that there may be one more subscription.
    pub(crate) fn check_subscriptions(&self, limits: &HubLimits) -> Result<(), LimitReached> {
        let name = "limits.subscriptions";
        check(
            "subscriptions",
            name,
            self.subscriptions,
            limits.subscriptions,
        )
    }

    /// Checks that there may be one more link.
    pub(crate) fn check_links(&self, limits: &HubLimits) -> Result<(), LimitReached> {
        check("links", "limits.links", self.links, limits.links)
    }

    /// Checks that there may be one more durable topic.
    pub(crate) fn check_durable_topics(&self, limits: &HubLimits) -> Result<(), LimitReached> {
        check(
            "durable topics",
            "limits.durable-topics",
            self.durable_topics,
            limits.durable_topics,
        )
    }

    /// Checks that there may be one more durable subscription.
    pub(crate) fn check_durable_subscriptions(
        &self,
        limits: &HubLimits,
    ) -> Result<(), LimitReached> {
        check(
            "durable subscriptions",
            "limits.durable-subscriptions",
            self.durable_subscriptions,
            limits.durable_subscriptions,
        )
    }

    /// The use of each limit, by the name of its setting.
    pub(crate) fn of_limits(&self, limits: &HubLimits) -> [LimitUse; 7] {
        [
            ("limits.topics", self.topics, limits.topics),
            (
                "limits.subscriptions",
                self.subscriptions,
                limits.subscriptions,
            ),
            ("limits.links", self.links, limits.links),
            (
                "limits.durable-topics",
                self.durable_topics,
                limits.durable_topics,
            ),
            (
                "limits.durable-subscriptions",
                self.durable_subscriptions,
                limits.durable_subscriptions,
            ),
            ("limits.queue-bytes", self.queue_bytes, limits.queue_bytes),
            (
                "limits.publisher-names",
                self.publisher_names,
                limits.publisher_names,
            ),
        ]
        .map(|(setting, used, limit)| LimitUse {
            setting,
            used,
            limit,
        })
    }
}

fn check(
    what: &'static str,
    setting: &'static str,
    used: usize,
    limit: usize,
) -> Result<(), LimitReached> {
    match used < limit {
        true => Ok(()),
        false => Err(LimitReached {
            user: None,
            what,
            setting,
            limit,
        }),
    }
}

/// How much of a limit is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitUse {
    /// The setting in a `floe.toml`, such as `limits.topics`.
    pub setting: &'static str,
    /// How much is used now.
    pub used: usize,
    /// How much may be used.
    pub limit: usize,
}

/// A limit of the hub is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitReached {
    /// The user whose limit it is; `None` for a limit of all clients together.
    pub(crate) user: Option<Arc<str>>,
    pub(crate) what: &'static str,
    pub(crate) setting: &'static str,
    pub(crate) limit: usize,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            user,
            what,
            setting,
            limit,
        } = self;
        match user {
            Some(user) => write!(f, "user {user:?}")?,
            None => f.write_str("the hub")?,
        }
        write!(
            f,
            " has {limit} {what}, as many as {setting} allows: remove some, or raise it in the hub's floe.toml"
        )
    }
}

impl HubLimits {
    /// Checks a quality of service; the reason if it is too large.
    pub(crate) fn check_qos(&self, qos: &BTreeMap<String, String>) -> Result<(), String> {
        let len: usize = qos.iter().map(|(key, value)| key.len() + value.len()).sum();
        within("entries", qos.len(), self.qos_entries, "limits.qos-entries")
            .and_then(|()| within("bytes", len, self.qos_bytes, "limits.qos-bytes"))
            .map_err(|reason| format!("quality of service: {reason}"))
    }

    /// Checks the size of a proxy; the reason if it is too large.
    pub(crate) fn check_proxy(&self, len: usize, endpoints: usize) -> Result<(), String> {
        let (len_max, endpoints_max) = (self.proxy_bytes, self.proxy_endpoints);
        within(
            "endpoints",
            endpoints,
            endpoints_max,
            "limits.proxy-endpoints",
        )
        .and_then(|()| within("bytes", len, len_max, "limits.proxy-bytes"))
        .map_err(|reason| format!("proxy: {reason}"))
    }
}

fn within(what: &str, found: usize, limit: usize, setting: &str) -> Result<(), String> {
    match found <= limit {
        true => Ok(()),
        false => Err(format!(
            "expected at most {limit} {what} ({setting}), got {found}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_reached_names_its_setting() {
        let limits = HubLimits {
            topics: 2,
            ..HubLimits::default()
        };
        let usage = |topics| Usage {
            topics,
            ..Usage::default()
        };
        assert_eq!(usage(1).check_topics(&limits), Ok(()));
        assert_eq!(usage(1).check_links(&limits), Ok(()));
        let reached = usage(2).check_topics(&limits).unwrap_err().to_string();
        assert_eq!(
            reached,
            "the hub has 2 topics, as many as limits.topics allows: remove some, or raise it in the hub's floe.toml"
        );
    }

    #[test]
    fn a_quality_of_service_is_limited_in_entries_and_bytes() {
        let limits = HubLimits::default();
        let of = |count: usize, len: usize| {
            (0..count)
                .map(|at| (at.to_string(), "x".repeat(len)))
                .collect()
        };
        assert_eq!(limits.check_qos(&of(64, 1)), Ok(()));
        let many = limits.check_qos(&of(65, 1)).unwrap_err();
        assert!(
            many.contains("at most 64 entries (limits.qos-entries), got 65"),
            "{many}"
        );
        let long = limits.check_qos(&of(1, 4_096)).unwrap_err();
        assert!(
            long.contains("at most 4096 bytes (limits.qos-bytes), got 4097"),
            "{long}"
        );
    }

    #[test]
    fn a_proxy_is_limited_in_endpoints_and_bytes() {
        let limits = HubLimits::default();
        assert_eq!(limits.check_proxy(8 * 1024, 64), Ok(()));
        let long = limits.check_proxy(8 * 1024 + 1, 1).unwrap_err();
        assert!(long.contains("limits.proxy-bytes"), "{long}");
        let many = limits.check_proxy(1, 65).unwrap_err();
        assert!(many.contains("limits.proxy-endpoints"), "{many}");
    }
}
