//! The configuration of a participant.

use core::net::SocketAddr;
use std::fmt;
use std::time::Duration;

use crate::discovery::{LOCATORS_MAX, NAME_LEN_MAX};
use crate::guid::GuidPrefix;
use crate::locator::DOMAIN_MAX;

/// The configuration of a participant.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its name in octets: 12 that no other participant has, now or later, for example random ones.
    pub prefix: GuidPrefix,
    /// Its domain, 0 to [`DOMAIN_MAX`]. Announcements of others are ignored.
    pub domain: u32,
    /// A name that keeps participants of one domain apart; mostly empty.
    pub domain_tag: String,
    /// Its name for people; may be empty.
    pub name: String,
    /// How long others keep it after they heard it last. Default: 20 s.
    pub lease: Duration,
    /// How often it announces itself, after a quick beginning. Default: 5 s, so that three announcements may be lost.
    pub announce_every: Duration,
    /// Where it announces itself: a multicast group, or peers
    /// ([`DomainPorts::peers_of`](crate::locator::DomainPorts::peers_of)), or both. At most [`ANNOUNCE_TO_MAX`].
    pub announce_to: Vec<SocketAddr>,
    /// Where discovery reaches it. It needs at least one.
    pub metatraffic_unicast: Vec<SocketAddr>,
    /// Where discovery reaches it and others; may be empty.
    pub metatraffic_multicast: Vec<SocketAddr>,
    /// Where samples reach it. It needs at least one.
    pub default_unicast: Vec<SocketAddr>,
    /// Take submessages of a participant only from addresses that it has announced, or from which it came first. Default:
    /// true. RTPS has no other protection against somebody who sends in another's name.
    pub checks_sources: bool,
    /// The most bytes of a datagram that is sent. Default: 1,452, which fits Ethernet.
    pub datagram_len_max: usize,
    /// The most bytes of payload of one submessage: longer samples are sent in fragments of this length. A multiple of 4,
    /// at least [`FRAGMENT_ROOM`] below `datagram_len_max`. Default: 1,344.
    pub fragment_len: u16,
    /// How much it keeps of others.
    pub limits: ParticipantLimits,
}

impl Config {
    /// A participant that is reached at one address for discovery and at one for samples, and announces itself there.
    pub fn new(
        prefix: GuidPrefix,
        domain: u32,
        discovery: SocketAddr,
        samples: SocketAddr,
        announce_to: Vec<SocketAddr>,
    ) -> Self {
        Self {
            prefix,
            domain,
            domain_tag: String::new(),
            name: String::new(),
            lease: Duration::from_secs(20),
            announce_every: Duration::from_secs(5),
            announce_to,
            metatraffic_unicast: vec![discovery],
            metatraffic_multicast: Vec::new(),
            default_unicast: vec![samples],
            checks_sources: true,
            datagram_len_max: 1452,
            fragment_len: 1344,
            limits: ParticipantLimits::default(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let room = self.datagram_len_max.saturating_sub(FRAGMENT_ROOM);
        let fragment_len = usize::from(self.fragment_len);
        let lists = [
            &self.metatraffic_unicast,
            &self.metatraffic_multicast,
            &self.default_unicast,
        ];
        let too_many = lists.into_iter().find(|list| list.len() > LOCATORS_MAX);
        if self.domain > DOMAIN_MAX {
            Err(ConfigError::Domain(self.domain))
        } else if self.metatraffic_unicast.is_empty() || self.default_unicast.is_empty() {
            Err(ConfigError::NoAddress)
        } else if let Some(list) = too_many {
            Err(ConfigError::TooManyAddresses(list.len()))
        } else if self.announce_to.len() > ANNOUNCE_TO_MAX {
            Err(ConfigError::TooManyPeers(self.announce_to.len()))
        } else if self.name.len() > NAME_LEN_MAX || self.domain_tag.len() > NAME_LEN_MAX {
            Err(ConfigError::NameTooLong)
        } else if fragment_len == 0
            || !fragment_len.is_multiple_of(4)
            || fragment_len > room
            || self.datagram_len_max > DATAGRAM_LEN_MAX
        {
            Err(ConfigError::Lengths(
                self.datagram_len_max,
                self.fragment_len,
            ))
        } else {
            Ok(())
        }
    }
}

/// How much a participant keeps of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParticipantLimits {
    /// The most other participants. When there are as many, one that has never answered gives way. Default: 256.
    pub participants_max: usize,
    /// The most endpoints of one participant. Default: 1,024, twice what a large ROS node has.
    pub endpoints_max: usize,
    /// The most bytes of what all participants tell about their endpoints. Default: 32 MiB.
    pub discovery_bytes_max: usize,
    /// The longest lease that is believed: a participant that never answers again is forgotten after it. Default: 5 min;
    /// others announce themselves at least every 30 s.
    pub lease_max: Duration,
}

impl Default for ParticipantLimits {
    fn default() -> Self {
        Self {
            participants_max: 256,
            endpoints_max: 1024,
            discovery_bytes_max: 32 << 20,
            lease_max: Duration::from_secs(300),
        }
    }
}

/// A configuration that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A domain that has no ports.
    Domain(u32),
    /// Nobody could reach the participant.
    NoAddress,
    /// More addresses of one kind than [`LOCATORS_MAX`].
    TooManyAddresses(usize),
    /// More than [`ANNOUNCE_TO_MAX`].
    TooManyPeers(usize),
    /// A name of a participant or a domain above [`NAME_LEN_MAX`] bytes.
    NameTooLong,
    /// Lengths of datagram and fragment that do not fit each other.
    Lengths(usize, u16),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(domain) => {
                write!(f, "expected a domain from 0 to {DOMAIN_MAX}, got {domain}")
            }
            Self::NoAddress => f.write_str(
                "expected an address for discovery and one for samples, got none; others could not answer",
            ),
            Self::TooManyAddresses(count) => write!(
                f,
                "expected at most {LOCATORS_MAX} addresses of one kind, got {count}"
            ),
            Self::TooManyPeers(count) => write!(
                f,
                "expected at most {ANNOUNCE_TO_MAX} addresses to announce to, got {count}; name fewer peers, or \
                 fewer participants for each"
            ),
            Self::NameTooLong => write!(
                f,
                "expected names of a participant and of its domain of at most {NAME_LEN_MAX} bytes"
            ),
            Self::Lengths(datagram, fragment) => write!(
                f,
                "expected datagrams of at most {DATAGRAM_LEN_MAX} bytes, and a fragment length that is a multiple of \
                 4 and at least {FRAGMENT_ROOM} below, got {datagram} and {fragment}"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

/// The most addresses to announce to: 25 hosts of 10 participants. Each gets a datagram every few seconds.
pub const ANNOUNCE_TO_MAX: usize = 256;
/// The bytes of a datagram beside a fragment: header, destination, time, fields and inline qualities of service.
pub const FRAGMENT_ROOM: usize = 108;
/// The most bytes of a UDP datagram over IPv4.
const DATAGRAM_LEN_MAX: usize = 65_507;
