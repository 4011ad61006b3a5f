//! CosEvent: event channels of the push style.
//!
//! A supplier gets a proxy consumer from the channel and pushes to it; a consumer gets a proxy supplier, connects
//! itself, and the channel pushes to it. This module keeps who is connected; its driver delivers the events. The pull
//! style raises `NO_IMPLEMENT`.
//!
//! ```text
//! key                   object
//! <channel>             EventChannel
//! <channel>/consumers   ConsumerAdmin
//! <channel>/suppliers   SupplierAdmin
//! <channel>/c<number>   ProxyPushConsumer
//! <channel>/s<number>   ProxyPushSupplier
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;

use super::references::dispatch_object;
use super::{Raised, References};
use crate::any::Any;
use crate::cdr::{Decoder, Encoder};
use crate::message::{RequestHead, ResponseExpected, Target};
use crate::reference::Ior;
use crate::system_exception::SystemExceptionKind as Kind;

/// The repository id of an event channel.
pub const CHANNEL_ID: &str = "IDL:omg.org/CosEventChannelAdmin/EventChannel:1.0";
const CONSUMER_ADMIN_ID: &str = "IDL:omg.org/CosEventChannelAdmin/ConsumerAdmin:1.0";
const SUPPLIER_ADMIN_ID: &str = "IDL:omg.org/CosEventChannelAdmin/SupplierAdmin:1.0";
const PROXY_CONSUMER_ID: &str = "IDL:omg.org/CosEventChannelAdmin/ProxyPushConsumer:1.0";
const PROXY_SUPPLIER_ID: &str = "IDL:omg.org/CosEventChannelAdmin/ProxyPushSupplier:1.0";
/// The repository id of a consumer of the push style.
pub const PUSH_CONSUMER_ID: &str = "IDL:omg.org/CosEventComm/PushConsumer:1.0";
/// The repository id of a supplier of the push style.
pub const PUSH_SUPPLIER_ID: &str = "IDL:omg.org/CosEventComm/PushSupplier:1.0";

/// The most suppliers, and the most consumers, of a channel, connected or not.
pub const PROXIES_MAX: usize = 4_096;

/// A proxy supplier: the number of a consumer within its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId(pub u64);

/// A proxy: of a supplier, or of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProxyId {
    /// The ProxyPushConsumer of a supplier.
    Supplier(u64),
    /// The ProxyPushSupplier of a consumer.
    Consumer(ConsumerId),
}

/// Something that the driver of a channel must do.
#[derive(Debug, Clone, PartialEq)]
pub enum ChannelEvent {
    /// Somebody has got this proxy, and is not connected yet.
    Obtained(ProxyId),
    /// Deliver this event to the consumers.
    Published(Any),
    /// Deliver events to this consumer from now on.
    Connected(ConsumerId, Ior),
    /// Deliver no more events to this consumer.
    Disconnected(ConsumerId),
    /// The channel was destroyed. Call `disconnect_push_consumer` of these, and `disconnect_push_supplier` of the others.
    Destroyed {
        /// The consumers.
        consumers: Vec<Ior>,
        /// The suppliers that gave a reference.
        suppliers: Vec<Ior>,
    },
}

/// An event channel.
#[derive(Debug)]
pub struct EventChannel {
    references: References,
    key: Bytes,
    /// `None` until it is connected; nil if the supplier does not want to hear of its end.
    suppliers: BTreeMap<u64, Option<Ior>>,
    /// `None` until it is connected.
    consumers: BTreeMap<ConsumerId, Option<Ior>>,
    next: u64,
    is_destroyed: bool,
}

/// The objects of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Channel,
    ConsumerAdmin,
    SupplierAdmin,
    ProxyConsumer(u64),
    ProxySupplier(ConsumerId),
}

impl EventChannel {
    /// A channel with this key; no key of another object may begin with it and a slash.
    pub fn new(references: References, key: Bytes) -> Self {
        Self::counting_from(1, references, key)
    }

    /// A channel whose proxies have numbers from `first` on. With a number that only grows from run to run, such as the
    /// time, a reference to a proxy of an earlier run leads to nothing, and not to the proxy of somebody else.
    pub fn counting_from(first: u64, references: References, key: Bytes) -> Self {
        Self {
            references,
            key,
            suppliers: BTreeMap::new(),
            consumers: BTreeMap::new(),
            next: first,
            is_destroyed: false,
        }
    }

    /// The reference to the channel.
    pub fn reference(&self) -> Ior {
        self.references.to(CHANNEL_ID, self.key.clone())
    }

    /// Returns true if the object with this key is, or was, one of the channel.
    pub fn has(&self, key: &[u8]) -> bool {
        self.part(key).is_some()
    }

    /// The consumers that are connected.
    pub fn consumers(&self) -> impl Iterator<Item = (ConsumerId, &Ior)> {
        let consumers = self.consumers.iter();
        consumers.filter_map(|(id, reference)| Some((*id, reference.as_ref()?)))
    }

    /// The number of the proxy with this key, if it is that of a supplier or a consumer, with its reference once it has
    /// connected itself. `None` if it is another object, or no longer there.
    pub fn proxy(&self, key: &[u8]) -> Option<(ProxyId, Option<&Ior>)> {
        match self.part(key)? {
            Part::ProxyConsumer(number) => {
                let supplier = self.suppliers.get(&number)?;
                Some((ProxyId::Supplier(number), supplier.as_ref()))
            }
            Part::ProxySupplier(id) => {
                let consumer = self.consumers.get(&id)?;
                Some((ProxyId::Consumer(id), consumer.as_ref()))
            }
            _ => None,
        }
    }

    /// The suppliers that are connected and gave a reference, to hear of the end.
    pub fn suppliers(&self) -> impl Iterator<Item = &Ior> {
        let references = self.suppliers.values().flatten();
        references.filter(|reference| !reference.is_nil())
    }

    /// Returns true if a proxy is there and connected.
    pub fn is_connected(&self, proxy: ProxyId) -> bool {
        match proxy {
            ProxyId::Supplier(number) => matches!(self.suppliers.get(&number), Some(Some(_))),
            ProxyId::Consumer(id) => matches!(self.consumers.get(&id), Some(Some(_))),
        }
    }

    /// Removes a proxy: its object is no longer there.
    pub fn remove(&mut self, proxy: ProxyId) {
        match proxy {
            ProxyId::Supplier(number) => drop(self.suppliers.remove(&number)),
            ProxyId::Consumer(id) => drop(self.consumers.remove(&id)),
        }
    }

    /// The request that pushes an event to a consumer with this target; its argument is the event. Use
    /// [`ResponseExpected::Target`] to learn that it came.
    pub fn push_head(target: Target) -> RequestHead {
        RequestHead {
            target,
            operation: "push".to_owned(),
            response: ResponseExpected::Target,
            contexts: Vec::new(),
        }
    }

    /// Executes an operation of the object with this key.
    ///
    /// # Errors
    /// [`Raised`]. The results are then to be forgotten.
    pub fn dispatch(
        &mut self,
        key: &[u8],
        operation: &str,
        arguments: &mut Decoder<'_>,
        results: &mut Encoder,
    ) -> Result<Option<ChannelEvent>, Raised> {
        let part = self.part(key).filter(|_| !self.is_destroyed);
        let part = part.ok_or_else(|| Raised::system(Kind::ObjectNotExist))?;
        match (part, operation) {
            (Part::Channel, "for_consumers") => {
                self.put(CONSUMER_ADMIN_ID, "consumers", results)?;
            }
            (Part::Channel, "for_suppliers") => {
                self.put(SUPPLIER_ADMIN_ID, "suppliers", results)?;
            }
            (Part::Channel, "destroy") => return Ok(Some(self.destroy())),
            (Part::ConsumerAdmin, "obtain_push_supplier") => {
                let number = self.new_number(self.consumers.len())?;
                let id = ConsumerId(number);
                self.consumers.insert(id, None);
                self.put(PROXY_SUPPLIER_ID, &format!("s{number}"), results)?;
                return Ok(Some(ChannelEvent::Obtained(ProxyId::Consumer(id))));
            }
            (Part::SupplierAdmin, "obtain_push_consumer") => {
                let number = self.new_number(self.suppliers.len())?;
                self.suppliers.insert(number, None);
                self.put(PROXY_CONSUMER_ID, &format!("c{number}"), results)?;
                return Ok(Some(ChannelEvent::Obtained(ProxyId::Supplier(number))));
            }
            (Part::ConsumerAdmin, "obtain_pull_supplier")
            | (Part::SupplierAdmin, "obtain_pull_consumer") => {
                return Err(Raised::system(Kind::NoImplement));
            }
            (Part::ProxyConsumer(number), _) => {
                if let Some(event) = self.dispatch_supplier(number, operation, arguments)? {
                    return Ok(event);
                }
                self.dispatch_other(part, operation, arguments, results)?;
            }
            (Part::ProxySupplier(id), _) => {
                if let Some(event) = self.dispatch_consumer(id, operation, arguments)? {
                    return Ok(Some(event));
                }
                self.dispatch_other(part, operation, arguments, results)?;
            }
            _ => self.dispatch_other(part, operation, arguments, results)?,
        }
        Ok(None)
    }

    /// Operations of a supplier. The outer `None` means that it is another one.
    fn dispatch_supplier(
        &mut self,
        number: u64,
        operation: &str,
        arguments: &mut Decoder<'_>,
    ) -> Result<Option<Option<ChannelEvent>>, Raised> {
        let gone = || Raised::system(Kind::ObjectNotExist);
        let supplier = self.suppliers.get_mut(&number).ok_or_else(gone)?;
        match operation {
            "push" => {
                if supplier.is_none() {
                    return Err(Raised::user(
                        "omg.org/CosEventComm",
                        "Disconnected",
                        Vec::new(),
                    ));
                }
                Ok(Some(Some(ChannelEvent::Published(Any::decode(arguments)?))))
            }
            "connect_push_supplier" => {
                if supplier.is_some() {
                    return Err(already_connected());
                }
                *supplier = Some(Ior::decode(arguments)?);
                Ok(Some(None))
            }
            "disconnect_push_consumer" => {
                self.suppliers.remove(&number);
                Ok(Some(None))
            }
            _ => Ok(None),
        }
    }

    /// Operations of a consumer. `None` means that it is another one.
    fn dispatch_consumer(
        &mut self,
        id: ConsumerId,
        operation: &str,
        arguments: &mut Decoder<'_>,
    ) -> Result<Option<ChannelEvent>, Raised> {
        let gone = || Raised::system(Kind::ObjectNotExist);
        let consumer = self.consumers.get_mut(&id).ok_or_else(gone)?;
        match operation {
            "connect_push_consumer" => {
                if consumer.is_some() {
                    return Err(already_connected());
                }
                let reference = Ior::decode(arguments)?;
                // Event Service 1.2, 2.3.5: a nil consumer is a bad parameter.
                if reference.is_nil() {
                    return Err(Raised::system(Kind::BadParam));
                }
                *consumer = Some(reference.clone());
                Ok(Some(ChannelEvent::Connected(id, reference)))
            }
            "disconnect_push_supplier" => {
                self.consumers.remove(&id);
                Ok(Some(ChannelEvent::Disconnected(id)))
            }
            _ => Ok(None),
        }
    }

    fn dispatch_other(
        &self,
        part: Part,
        operation: &str,
        arguments: &mut Decoder<'_>,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        let interfaces = match part {
            Part::Channel => [CHANNEL_ID, ""],
            Part::ConsumerAdmin => [CONSUMER_ADMIN_ID, ""],
            Part::SupplierAdmin => [SUPPLIER_ADMIN_ID, ""],
            Part::ProxyConsumer(_) => [PROXY_CONSUMER_ID, PUSH_CONSUMER_ID],
            Part::ProxySupplier(_) => [PROXY_SUPPLIER_ID, PUSH_SUPPLIER_ID],
        };
        match dispatch_object(&interfaces, operation, arguments, results)? {
            true => Ok(()),
            false => Err(Raised::system(Kind::BadOperation)),
        }
    }

    fn destroy(&mut self) -> ChannelEvent {
        self.is_destroyed = true;
        let is_known = |reference: &Ior| !reference.is_nil();
        let consumers = std::mem::take(&mut self.consumers);
        let suppliers = std::mem::take(&mut self.suppliers);
        ChannelEvent::Destroyed {
            consumers: consumers.into_values().flatten().collect(),
            suppliers: suppliers.into_values().flatten().filter(is_known).collect(),
        }
    }

    fn new_number(&mut self, count: usize) -> Result<u64, Raised> {
        if count >= PROXIES_MAX {
            return Err(Raised::system(Kind::ImpLimit));
        }
        let number = self.next;
        self.next += 1;
        Ok(number)
    }

    fn put(&self, type_id: &str, name: &str, results: &mut Encoder) -> Result<(), Raised> {
        let key = [&self.key[..], b"/", name.as_bytes()].concat();
        Ok(self.references.to(type_id, key.into()).encode(results)?)
    }

    fn part(&self, key: &[u8]) -> Option<Part> {
        if key == self.key {
            return Some(Part::Channel);
        }
        let name = key.strip_prefix(&self.key[..])?.strip_prefix(b"/")?;
        let name = std::str::from_utf8(name).ok()?;
        match name {
            "consumers" => Some(Part::ConsumerAdmin),
            "suppliers" => Some(Part::SupplierAdmin),
            _ => {
                let (kind, number) = name.split_at_checked(1)?;
                let number = number.parse().ok()?;
                match kind {
                    "c" => Some(Part::ProxyConsumer(number)),
                    "s" => Some(Part::ProxySupplier(ConsumerId(number))),
                    _ => None,
                }
            }
        }
    }
}

fn already_connected() -> Raised {
    Raised::user(
        "omg.org/CosEventChannelAdmin",
        "AlreadyConnected",
        Vec::new(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdr::{EncodeError, Endian, Format};
    use crate::reference::IiopProfile;

    const FORMAT: Format = Format {
        endian: Endian::Big,
        version: crate::cdr::Version::V1_2,
        code_sets: crate::cdr::CodeSets::UTF,
    };

    fn channel() -> EventChannel {
        let profile = IiopProfile::new("here", 1, Bytes::new()).expect("it is short");
        EventChannel::new(References::new(profile), Bytes::from_static(b"Ticks"))
    }

    type Called = Result<(Option<ChannelEvent>, Vec<u8>), String>;

    fn call(
        channel: &mut EventChannel,
        key: &str,
        operation: &str,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Called {
        let (mut arguments, mut results) = (Encoder::new(FORMAT), Encoder::new(FORMAT));
        write(&mut arguments).expect("they are short");
        let bytes = arguments.into_bytes();
        let mut arguments = Decoder::new(&bytes, FORMAT);
        let done = channel.dispatch(key.as_bytes(), operation, &mut arguments, &mut results);
        let event = done.map_err(|raised| raised.to_string())?;
        Ok((event, results.into_bytes()))
    }

    fn nil(encoder: &mut Encoder) -> Result<(), EncodeError> {
        Ior::NIL.encode(encoder)
    }

    #[test]
    fn a_supplier_must_be_connected_to_push() {
        let mut channel = channel();
        call(
            &mut channel,
            "Ticks/suppliers",
            "obtain_push_consumer",
            |_| Ok(()),
        )
        .expect("it is");
        let push = |encoder: &mut Encoder| Any::null(FORMAT).encode(encoder);
        let early = call(&mut channel, "Ticks/c1", "push", push);
        assert_eq!(
            early,
            Err("IDL:omg.org/CosEventComm/Disconnected:1.0".to_owned())
        );
        call(&mut channel, "Ticks/c1", "connect_push_supplier", nil).expect("it is free");
        let (event, _) = call(&mut channel, "Ticks/c1", "push", push).expect("it is connected");
        assert!(matches!(event, Some(ChannelEvent::Published(_))));
        let again = call(&mut channel, "Ticks/c1", "connect_push_supplier", nil);
        assert!(again.is_err_and(|error| error.contains("AlreadyConnected")));
    }

    #[test]
    fn a_consumer_that_is_nil_is_refused_and_one_that_disconnects_is_gone() {
        let mut channel = channel();
        call(
            &mut channel,
            "Ticks/consumers",
            "obtain_push_supplier",
            |_| Ok(()),
        )
        .expect("it is");
        let refused = call(&mut channel, "Ticks/s1", "connect_push_consumer", nil);
        assert!(refused.is_err_and(|error| error.starts_with("BAD_PARAM")));
        let consumer = channel.reference();
        let connect = |encoder: &mut Encoder| consumer.encode(encoder);
        let (event, _) =
            call(&mut channel, "Ticks/s1", "connect_push_consumer", connect).expect("it is free");
        assert_eq!(
            event,
            Some(ChannelEvent::Connected(ConsumerId(1), consumer))
        );
        assert_eq!(channel.consumers().count(), 1);
        call(&mut channel, "Ticks/s1", "disconnect_push_supplier", |_| {
            Ok(())
        })
        .expect("it is");
        let after = call(&mut channel, "Ticks/s1", "_non_existent", |_| Ok(()));
        assert!(after.is_err_and(|error| error.starts_with("OBJECT_NOT_EXIST")));
    }

    #[test]
    fn the_pull_style_says_that_it_is_not_implemented() {
        let mut channel = channel();
        let pulled = call(
            &mut channel,
            "Ticks/consumers",
            "obtain_pull_supplier",
            |_| Ok(()),
        );
        assert!(pulled.is_err_and(|error| error.starts_with("NO_IMPLEMENT")));
    }

    #[test]
    fn a_destroyed_channel_is_no_object() {
        let mut channel = channel();
        call(&mut channel, "Ticks", "destroy", |_| Ok(())).expect("it is there");
        let after = call(&mut channel, "Ticks", "for_consumers", |_| Ok(()));
        assert!(after.is_err_and(|error| error.starts_with("OBJECT_NOT_EXIST")));
    }
}
