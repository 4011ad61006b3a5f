//! The two ends of a link: where messages come from, and where they go.

use crate::codec::{
    CodecError, CodecErrorKind, Composite, Descriptor, Field, Raw, Reader, Symbol, Value, Writer,
    composite,
};

composite! {
    /// Where the messages of a link come from.
    #[derive(Default)]
    Source = 0x28 "amqp:source:list" {
        /// The node, such as a topic. Peers send texts; other values are refused.
        address: Option<String>,
        /// The part of it that outlives the connection.
        durable: Durability,
        /// When the terminus begins to expire.
        expiry_policy: Expiry,
        /// Seconds until it has expired.
        timeout: Option<u32>,
        /// True if the node shall be made for this link, which names it.
        dynamic: bool,
        /// A map: what the new node shall be like.
        dynamic_node_properties: Option<Raw>,
        /// `move` or `copy`.
        distribution_mode: Option<Symbol>,
        /// Which messages are wanted.
        filter: Filters,
        /// The outcome of deliveries that are settled without one.
        default_outcome: Option<Raw>,
        /// The outcomes that the receiver may choose.
        outcomes: Vec<Symbol>,
        /// Capabilities of the source, such as [`capability::TOPIC`].
        capabilities: Vec<Symbol>,
    }
}

composite! {
    /// Where the messages of a link go.
    #[derive(Default)]
    Target = 0x29 "amqp:target:list" {
        /// The node, such as a topic.
        address: Option<String>,
        /// The part of it that outlives the connection.
        durable: Durability,
        /// When the terminus begins to expire.
        expiry_policy: Expiry,
        /// Seconds until it has expired.
        timeout: Option<u32>,
        /// True if the node shall be made for this link, which names it.
        dynamic: bool,
        /// A map: what the new node shall be like.
        dynamic_node_properties: Option<Raw>,
        /// Capabilities of the target.
        capabilities: Vec<Symbol>,
    }
}

composite! {
    /// A target that takes commands of transactions.
    Coordinator = 0x30 "amqp:coordinator:list" {
        /// Its capabilities.
        capabilities: Vec<Symbol>,
    }
}

impl Source {
    /// A source at this address.
    pub fn at(address: impl Into<String>) -> Self {
        Self {
            address: Some(address.into()),
            ..Self::default()
        }
    }

    /// True if the peer names this capability.
    pub fn has(&self, capability: &Symbol) -> bool {
        self.capabilities.contains(capability)
    }
}

impl Target {
    /// A target at this address.
    pub fn at(address: impl Into<String>) -> Self {
        Self {
            address: Some(address.into()),
            ..Self::default()
        }
    }
}

/// The target of an attach: a node, or the coordinator of transactions.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyTarget {
    /// A node.
    Node(Target),
    /// The coordinator.
    Coordinator(Coordinator),
}

impl Field for AnyTarget {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let is_coordinator = match reader.clone().descriptor(reading)? {
            Descriptor::Code(code) => code == Coordinator::CODE,
            Descriptor::Name(name) => name == Coordinator::NAME,
        };
        if is_coordinator {
            Coordinator::decode(reader, reading).map(Self::Coordinator)
        } else {
            Target::decode(reader, reading).map(Self::Node)
        }
    }

    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Node(target) => target.encode(writer),
            Self::Coordinator(coordinator) => coordinator.encode(writer),
        }
    }
}

/// The part of a terminus that outlives the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing.
    #[default]
    None,
    /// That it exists, and how it is configured.
    Configuration,
    /// The state of its deliveries, too.
    UnsettledState,
}

impl Field for Durability {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match u32::decode(reader, reading)? {
            0 => Ok(Self::None),
            1 => Ok(Self::Configuration),
            2 => Ok(Self::UnsettledState),
            other => Err(reader.error(reading, CodecErrorKind::UndefinedValue(other.into()))),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.uint(*self as u32);
    }

    fn absent() -> Option<Self> {
        Some(Self::None)
    }

    fn is_absent(&self) -> bool {
        *self == Self::None
    }
}

/// When a terminus begins to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// When its link is detached.
    LinkDetach,
    /// When its session ends.
    #[default]
    SessionEnd,
    /// When its connection is closed.
    ConnectionClose,
    /// Never.
    Never,
}

impl Expiry {
    const ALL: [(Self, Symbol); 4] = [
        (Self::LinkDetach, Symbol::new("link-detach")),
        (Self::SessionEnd, Symbol::new("session-end")),
        (Self::ConnectionClose, Symbol::new("connection-close")),
        (Self::Never, Symbol::new("never")),
    ];
}

impl Field for Expiry {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let name = Symbol::decode(reader, reading)?;
        let all = Self::ALL;
        let known = all.iter().find(|(_, known)| *known == name);
        let undefined = || reader.error(reading, CodecErrorKind::UndefinedValue(0));
        known.map(|(expiry, _)| *expiry).ok_or_else(undefined)
    }

    fn encode(&self, writer: &mut Writer) {
        let all = Self::ALL;
        let name = all.iter().find(|(expiry, _)| expiry == self);
        writer.symbol(&name.expect("the table has all").1);
    }

    fn absent() -> Option<Self> {
        Some(Self::SessionEnd)
    }

    fn is_absent(&self) -> bool {
        *self == Self::SessionEnd
    }
}

/// The filters of a source, in the order in which they were sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filters(Vec<Filter>);

/// One filter of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// A name that the peer chose.
    pub name: Symbol,
    /// The kind of filter: a number or a name, if it has one.
    pub kind: Option<FilterKind>,
    /// A value of that kind, such as the text of a selector.
    pub value: Value,
}

/// The descriptor of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterKind {
    /// A number, such as [`JMS_SELECTOR`].
    Code(u64),
    /// A name, such as `apache.org:selector-filter:string`.
    Name(Symbol),
}

/// The filter of a JMS selector. Source: Apache AMQP filters; observed: Qpid JMS 2.10.
pub const JMS_SELECTOR: u64 = 0x0000_468C_0000_0004;
/// The filter that passes over messages of the same connection. Source and observed as [`JMS_SELECTOR`].
pub const NO_LOCAL: u64 = 0x0000_468C_0000_0003;
/// The most filters of a source: a JMS program has two, and each is compared with all.
pub const FILTERS_MAX: usize = 32;

impl Filters {
    /// These filters.
    pub fn new(filters: Vec<Filter>) -> Self {
        Self(filters)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Filter> {
        self.0.iter()
    }

    /// The JMS selector, if there is one: its text.
    pub fn selector(&self) -> Option<&str> {
        let filter = self.of(JMS_SELECTOR, "apache.org:selector-filter:string")?;
        match &filter.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// True if messages of the same connection are not wanted.
    pub fn no_local(&self) -> bool {
        self.of(NO_LOCAL, "apache.org:no-local-filter:list")
            .is_some()
    }

    fn of(&self, code: u64, name: &str) -> Option<&Filter> {
        self.0.iter().find(|filter| match &filter.kind {
            Some(FilterKind::Code(kind)) => *kind == code,
            Some(FilterKind::Name(kind)) => kind == name,
            None => false,
        })
    }
}

impl Field for Filters {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let (count, mut entries) = reader.map(reading)?;
        if count as usize / 2 > FILTERS_MAX {
            return Err(entries.error(reading, CodecErrorKind::TooMany(FILTERS_MAX)));
        }
        let mut filters = Vec::new();
        for _ in 0..count / 2 {
            let name = Symbol::decode(&mut entries, "the name of a filter")?;
            let (kind, value) = match Value::decode(&mut entries, "a filter")? {
                Value::Described(described) => match *described {
                    (Value::Ulong(code), value) => (Some(FilterKind::Code(code)), value),
                    (Value::Symbol(name), value) => (Some(FilterKind::Name(name)), value),
                    _ => return Err(entries.error(reading, CodecErrorKind::UnknownDescriptor)),
                },
                value => (None, value),
            };
            filters.push(Filter { name, kind, value });
        }
        Ok(Self(filters))
    }

    fn encode(&self, writer: &mut Writer) {
        writer.map(|writer| {
            for filter in &self.0 {
                writer.symbol(&filter.name);
                match &filter.kind {
                    Some(FilterKind::Code(code)) => writer.descriptor(*code),
                    Some(FilterKind::Name(name)) => {
                        writer.encoded(&[0x00]);
                        writer.symbol(name);
                    }
                    None => {}
                }
                filter.value.encode(writer);
            }
            self.0.len() as u32 * 2
        });
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

/// Names of capabilities of sources, targets and connections.
///
/// Source: OASIS, "AMQP JMS Mapping" (working draft); observed: Qpid JMS 2.10.
pub mod capability {
    use crate::codec::Symbol;

    /// The node is a topic.
    pub const TOPIC: Symbol = Symbol::new("topic");
    /// The node is a queue.
    pub const QUEUE: Symbol = Symbol::new("queue");
    /// The node is a topic that the connection makes and that ends with it.
    pub const TEMPORARY_TOPIC: Symbol = Symbol::new("temporary-topic");
    /// The node is a queue that the connection makes and that ends with it.
    pub const TEMPORARY_QUEUE: Symbol = Symbol::new("temporary-queue");
    /// Several links share the subscription.
    pub const SHARED: Symbol = Symbol::new("shared");
    /// The subscription is known by its name alone, and not within a client's id.
    pub const GLOBAL: Symbol = Symbol::new("global");
    /// A connection that can share subscriptions says so.
    pub const SHARED_SUBSCRIPTIONS: Symbol = Symbol::new("SHARED-SUBS");
    /// A sender without an address, whose messages name theirs.
    pub const ANONYMOUS_RELAY: Symbol = Symbol::new("ANONYMOUS-RELAY");
    /// Deliveries at a time that the message names.
    pub const DELAYED_DELIVERY: Symbol = Symbol::new("DELAYED_DELIVERY");
    /// A connection that its container's id identifies alone.
    pub const SOLE_CONNECTION: Symbol = Symbol::new("sole-connection-for-container");
}
