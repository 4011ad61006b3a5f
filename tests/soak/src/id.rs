//! Ids of calls: no two calls of a run have the same one.

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A twoway call that must not be repeated.
    Once = 1,
    /// A twoway call that may be.
    Again = 2,
    /// A twoway call that ends with a user exception.
    Refuse = 3,
    /// A twoway call with data there and back.
    Carry = 4,
    /// A twoway call that is answered later.
    Linger = 5,
    /// A twoway call during which the server calls its client back.
    CallBack = 6,
    /// A oneway call.
    Oneway = 7,
    /// A call in a batch of oneways.
    Batch = 8,
    /// A call in a datagram.
    Datagram = 9,
    /// One of many twoway calls in flight at once.
    Many = 10,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 10] = [
        Self::Once,
        Self::Again,
        Self::Refuse,
        Self::Carry,
        Self::Linger,
        Self::CallBack,
        Self::Oneway,
        Self::Batch,
        Self::Datagram,
        Self::Many,
    ];

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Again => "idempotent",
            Self::Refuse => "user exception",
            Self::Carry => "data",
            Self::Linger => "late reply",
            Self::CallBack => "call back",
            Self::Oneway => "oneway",
            Self::Batch => "batch",
            Self::Datagram => "datagram",
            Self::Many => "many at once",
        }
    }

    /// Returns true if it may be executed more than once.
    pub(crate) fn may_repeat(self) -> bool {
        self == Self::Again
    }
}

/// The id of a call.
///
/// ```text
/// 63        48      40         0
/// | client  | kind  | counter  |
/// ```
///
/// `client` counts the client processes of a run from 1, below 2^15, so that no id is negative in Slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CallId(pub(crate) u64);

impl CallId {
    pub(crate) fn new(client: u16, kind: Kind, counter: u64) -> Self {
        Self(u64::from(client) << 48 | (kind as u64) << 40 | counter)
    }

    /// As it stands in the contract.
    pub(crate) fn wire(self) -> i64 {
        self.0.cast_signed()
    }

    /// Returns the kind of the call; `None` if no client made such an id.
    pub(crate) fn kind(self) -> Option<Kind> {
        let kind = (self.0 >> 40) as u8;
        Kind::ALL.into_iter().find(|known| *known as u8 == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallId, Kind};

    #[test]
    fn an_id_says_of_what_kind_its_call_is() {
        for kind in Kind::ALL {
            assert_eq!(CallId::new(7, kind, 123_456).kind(), Some(kind));
        }
        assert_eq!(CallId(0).kind(), None);
    }

    #[test]
    fn ids_of_different_calls_differ() {
        let id = CallId::new(1, Kind::Once, 1);
        assert_ne!(id, CallId::new(2, Kind::Once, 1));
        assert_ne!(id, CallId::new(1, Kind::Many, 1));
        assert_ne!(id, CallId::new(1, Kind::Once, 2));
        assert!(CallId::new(i16::MAX as u16, Kind::Many, 1).wire() > 0);
    }
}
