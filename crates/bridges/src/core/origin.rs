//! Where an event came from, so that it does not return there.
//!
//! A bridge publishes each event with an entry of its context, [`ORIGIN_KEY`], which hubs and links carry on like any
//! other. A bridge that is about to send an event to its world looks at it.

use std::fmt;

/// The key of the origin in the context of an event.
pub const ORIGIN_KEY: &str = "floe.origin";

/// The most bytes of an origin that is looked at. A longer one is none of ours.
pub const ORIGIN_LEN_MAX: usize = 256;

/// The world, the place in it and the participant from which an event came: `dds/domain 0/01021f…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The world: `dds`.
    world: String,
    /// The place, within which participants hear each other without us: `domain 0`.
    place: String,
    /// The participant.
    participant: String,
}

/// Which events must not return to their world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// Those from the same place: its participants have heard each other without us, as in a domain of DDS.
    NotToPlace,
    /// None: programs of this world hear each other only through us, as with a broker.
    ToAll,
}

impl Origin {
    /// An origin. A slash in the world or place becomes a dash, because it separates them.
    pub fn new(world: &str, place: &str, participant: &str) -> Self {
        Self {
            world: world.replace('/', "-"),
            place: place.replace('/', "-"),
            participant: participant.to_owned(),
        }
    }

    /// The origin that the context of an event tells of; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > ORIGIN_LEN_MAX {
            return None;
        }
        let mut parts = text.splitn(3, '/');
        let (world, place, participant) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            world: world.to_owned(),
            place: place.to_owned(),
            participant: participant.to_owned(),
        })
    }

    /// True if an event from here must not be sent to a place of a world.
    pub fn returns_to(&self, world: &str, place: &str, echo: Echo) -> bool {
        match echo {
            Echo::ToAll => false,
            Echo::NotToPlace => {
                let there = Self::new(world, place, "");
                self.world == there.world && self.place == there.place
            }
        }
    }

    /// The participant.
    pub fn participant(&self) -> &str {
        &self.participant
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.world, self.place, self.participant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_does_not_return_to_its_place() {
        let origin = Origin::new("dds", "domain 0", "a/b");
        let read = Origin::parse(&origin.to_string()).expect("it is one");
        assert_eq!(read, origin);
        assert_eq!(read.participant(), "a/b");
        assert!(read.returns_to("dds", "domain 0", Echo::NotToPlace));
        assert!(!read.returns_to("dds", "domain 1", Echo::NotToPlace));
        assert!(!read.returns_to("amqp", "domain 0", Echo::NotToPlace));
        assert!(!read.returns_to("dds", "domain 0", Echo::ToAll));
    }

    #[test]
    fn what_is_no_origin_is_none() {
        for text in ["", "dds", "dds/0", &"x/y/z".repeat(100)] {
            assert_eq!(Origin::parse(text), None, "{text}");
        }
        let place = Origin::new("amqp", "a/b", "c");
        assert!(place.returns_to("amqp", "a/b", Echo::NotToPlace));
    }
}
