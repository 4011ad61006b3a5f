//! Qualities of service: what a writer offers and a reader requests, and which of them fit each other.
//!
//! Source: DDS 1.4, 2.2.3; DDSI-RTPS 2.5, 9.6.4; DDS-XTypes 1.3, 7.6.3.1.1.

mod parameters;
mod partition;

pub(crate) use parameters::{PARTITION_LEN_MAX, PARTITIONS_MAX, decode, encode};
pub(crate) use partition::share_a_partition;

use std::fmt;
use std::time::Duration;

/// Reliable samples do not get lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reliability {
    /// A sample that is lost stays lost.
    BestEffort,
    /// A sample is sent until it has arrived.
    Reliable,
}

/// The samples that a late reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Nothing.
    Volatile,
    /// The samples that the writer still keeps.
    TransientLocal,
    /// The samples that a service keeps while it runs. Endpoints of ours cannot be so.
    Transient,
    /// The samples that a service keeps on a disk. Endpoints of ours cannot be so.
    Persistent,
}

/// The writers that may write an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// Every writer.
    Shared,
    /// The strongest writer. Readers of ours cannot be so, because they do not compare strengths.
    Exclusive,
}

/// How a writer shows that it is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LivelinessKind {
    /// Its participant does so for it. All writers of ours are so.
    Automatic,
    /// It is alive as long as one writer of its participant shows that it is.
    ManualByParticipant,
    /// It shows so itself.
    ManualByTopic,
}

/// How a writer shows that it is alive, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Liveliness {
    /// How.
    pub kind: LivelinessKind,
    /// After which time without a sign it counts as dead; `None` for never.
    pub lease: Option<Duration>,
}

/// How many samples of an instance are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum History {
    /// So many of the last, at least 1.
    KeepLast(u32),
    /// All, up to the limits of the endpoint.
    KeepAll,
}

/// The scope of groups of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessScope {
    /// An instance.
    Instance,
    /// The samples of a writer.
    Topic,
    /// The samples of a publisher.
    Group,
}

/// Groups of changes that stay together and in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Presentation {
    /// Of what.
    pub scope: AccessScope,
    /// They come all or not at all. Endpoints of ours cannot be so.
    pub is_coherent: bool,
    /// They come in order.
    pub is_ordered: bool,
}

/// By which time samples of several writers are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DestinationOrder {
    /// When they come.
    ByReception,
    /// When they were written. Readers of ours cannot be so.
    BySource,
}

/// The encodings of samples, in numbers of the standard.
pub mod representation {
    /// Plain CDR and parameter lists, version 1.
    pub const XCDR1: i16 = 0;
    /// XML.
    pub const XML: i16 = 1;
    /// Version 2.
    pub const XCDR2: i16 = 2;
}

/// The qualities of service of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos {
    /// Reliable samples do not get lost.
    pub reliability: Reliability,
    /// The history for late readers.
    pub durability: Durability,
    /// How often a sample of each instance comes at least; `None` for no promise.
    pub deadline: Option<Duration>,
    /// How late samples may be on purpose. This crate sends at once.
    pub latency_budget: Duration,
    /// The writers that may write an instance.
    pub ownership: Ownership,
    /// How strong an exclusive writer is.
    pub ownership_strength: i32,
    /// How writers show that they live.
    pub liveliness: Liveliness,
    /// How many samples are kept.
    pub history: History,
    /// Groups of changes.
    pub presentation: Presentation,
    /// The order of samples of several writers.
    pub destination_order: DestinationOrder,
    /// Names of which two endpoints must share one; none is the same as one that is empty. `*` and `?` match as in file
    /// names, on one side.
    pub partitions: Vec<String>,
    /// The encodings: a writer uses the first, a reader takes all.
    pub representations: Vec<i16>,
}

impl Qos {
    /// The standard's defaults of a writer: as of a reader, but reliable.
    pub fn of_writer() -> Self {
        Self {
            reliability: Reliability::Reliable,
            ..Self::of_reader()
        }
    }

    /// The standard's defaults of a reader.
    pub fn of_reader() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            deadline: None,
            latency_budget: Duration::ZERO,
            ownership: Ownership::Shared,
            ownership_strength: 0,
            liveliness: Liveliness {
                kind: LivelinessKind::Automatic,
                lease: None,
            },
            history: History::KeepLast(1),
            presentation: Presentation {
                scope: AccessScope::Instance,
                is_coherent: false,
                is_ordered: false,
            },
            destination_order: DestinationOrder::ByReception,
            partitions: Vec::new(),
            representations: vec![representation::XCDR1],
        }
    }

    /// These, reliable.
    #[must_use]
    pub fn reliable(self) -> Self {
        Self {
            reliability: Reliability::Reliable,
            ..self
        }
    }

    /// These, with history for late readers.
    #[must_use]
    pub fn transient_local(self) -> Self {
        Self {
            durability: Durability::TransientLocal,
            ..self
        }
    }

    /// These, with this history.
    #[must_use]
    pub fn history(self, history: History) -> Self {
        Self { history, ..self }
    }
}

/// A quality of service in which a reader requests more than a writer offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// [`Qos::reliability`].
    Reliability,
    /// [`Qos::durability`].
    Durability,
    /// [`Qos::deadline`].
    Deadline,
    /// [`Qos::latency_budget`].
    LatencyBudget,
    /// [`Qos::ownership`].
    Ownership,
    /// [`Qos::liveliness`].
    Liveliness,
    /// [`Qos::presentation`].
    Presentation,
    /// [`Qos::destination_order`].
    DestinationOrder,
    /// [`Qos::representations`].
    Representation,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reliability => "reliability: the reader wants reliable samples, and the writer is best effort",
            Self::Durability => "durability: the reader wants more history than the writer keeps",
            Self::Deadline => "deadline: the reader wants samples more often than the writer promises",
            Self::LatencyBudget => "latency budget: the reader wants samples sooner than the writer promises",
            Self::Ownership => "ownership: one is shared and the other exclusive",
            Self::Liveliness => "liveliness: the reader wants more or other signs of life than the writer gives",
            Self::Presentation => "presentation: the reader wants groups of changes that the writer does not make",
            Self::DestinationOrder => "destination order: the reader wants the order of writing, which the writer does not promise",
            Self::Representation => "data representation: the reader does not take the encoding that the writer uses",
        })
    }
}

/// The first policy in which `requested` by a reader is more than `offered` by a writer.
pub fn incompatible_policy(offered: &Qos, requested: &Qos) -> Option<Policy> {
    let is_lease_longer = is_longer(offered.liveliness.lease, requested.liveliness.lease);
    let (made, wanted) = (offered.presentation, requested.presentation);
    let used = offered
        .representations
        .first()
        .unwrap_or(&representation::XCDR1);
    let takes = match &requested.representations[..] {
        [] => &[representation::XCDR1],
        takes => takes,
    };
    let checks = [
        (
            offered.reliability < requested.reliability,
            Policy::Reliability,
        ),
        (
            offered.durability < requested.durability,
            Policy::Durability,
        ),
        (
            is_longer(offered.deadline, requested.deadline),
            Policy::Deadline,
        ),
        (
            offered.latency_budget > requested.latency_budget,
            Policy::LatencyBudget,
        ),
        (offered.ownership != requested.ownership, Policy::Ownership),
        (
            offered.liveliness.kind < requested.liveliness.kind || is_lease_longer,
            Policy::Liveliness,
        ),
        (
            made.scope < wanted.scope
                || wanted.is_coherent && !made.is_coherent
                || wanted.is_ordered && !made.is_ordered,
            Policy::Presentation,
        ),
        (
            offered.destination_order < requested.destination_order,
            Policy::DestinationOrder,
        ),
        (!takes.contains(used), Policy::Representation),
    ];
    checks
        .into_iter()
        .find(|(is_wrong, _)| *is_wrong)
        .map(|(_, policy)| policy)
}

/// Returns true if `span` is longer than `other`, where `None` is infinite.
fn is_longer(span: Option<Duration>, other: Option<Duration>) -> bool {
    match (span, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(span), Some(other)) => span > other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_fit() {
        assert_eq!(
            incompatible_policy(&Qos::of_writer(), &Qos::of_reader()),
            None
        );
    }

    #[test]
    fn each_request_above_the_offer_is_named() {
        let second = Some(Duration::from_secs(1));
        let offer = Qos::of_writer;
        let request = Qos::of_reader;
        let lease = |lease| Liveliness {
            kind: LivelinessKind::Automatic,
            lease,
        };
        let cases = [
            (
                Qos {
                    reliability: Reliability::BestEffort,
                    ..offer()
                },
                request().reliable(),
                Policy::Reliability,
            ),
            (offer(), request().transient_local(), Policy::Durability),
            (
                offer(),
                Qos {
                    deadline: second,
                    ..request()
                },
                Policy::Deadline,
            ),
            (
                Qos {
                    latency_budget: Duration::from_secs(1),
                    ..offer()
                },
                request(),
                Policy::LatencyBudget,
            ),
            (
                offer(),
                Qos {
                    ownership: Ownership::Exclusive,
                    ..request()
                },
                Policy::Ownership,
            ),
            (
                offer(),
                Qos {
                    liveliness: lease(second),
                    ..request()
                },
                Policy::Liveliness,
            ),
            (
                offer(),
                Qos {
                    presentation: Presentation {
                        scope: AccessScope::Topic,
                        ..request().presentation
                    },
                    ..request()
                },
                Policy::Presentation,
            ),
            (
                offer(),
                Qos {
                    destination_order: DestinationOrder::BySource,
                    ..request()
                },
                Policy::DestinationOrder,
            ),
            (
                Qos {
                    representations: vec![representation::XCDR2],
                    ..offer()
                },
                request(),
                Policy::Representation,
            ),
        ];
        for (offered, requested, policy) in cases {
            assert_eq!(incompatible_policy(&offered, &requested), Some(policy));
        }
    }

    #[test]
    fn an_offer_above_the_request_fits() {
        let offered = Qos {
            deadline: Some(Duration::from_secs(1)),
            ..Qos::of_writer().transient_local()
        };
        let requested = Qos {
            deadline: Some(Duration::from_secs(2)),
            representations: vec![representation::XCDR2, representation::XCDR1],
            ..Qos::of_reader()
        };
        assert_eq!(incompatible_policy(&offered, &requested), None);
    }
}
