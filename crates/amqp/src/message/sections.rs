//! The sections of a message that are composites.

use bytes::Bytes;

use crate::codec::{Symbol, Timestamp, Value, composite};

composite! {
    /// How a message is delivered.
    #[derive(Default)]
    Header = 0x70 "amqp:header:list" {
        /// True if it shall survive a failure.
        durable: bool,
        /// Its urgency; none for [`PRIORITY_DEFAULT`].
        priority: Option<u8>,
        /// Milliseconds for which it is worth something.
        ttl: Option<u32>,
        /// True if no other has got it before.
        first_acquirer: bool,
        /// How often a delivery has failed.
        delivery_count: Option<u32>,
    }
}

/// The priority of messages that name none.
pub const PRIORITY_DEFAULT: u8 = 4;

composite! {
    /// The properties of a message that its sender sets.
    #[derive(Default)]
    Properties = 0x73 "amqp:properties:list" {
        /// Its name: a text, a number, a unique id, or bytes.
        message_id: Option<Value>,
        /// The user who made it.
        user_id: Option<Bytes>,
        /// The node that it is meant for.
        to: Option<String>,
        /// Its subject; the type of a JMS message.
        subject: Option<String>,
        /// The node that answers go to.
        reply_to: Option<String>,
        /// The name of a message that it belongs to.
        correlation_id: Option<Value>,
        /// The kind of its data, as in MIME.
        content_type: Option<Symbol>,
        /// How its data is packed.
        content_encoding: Option<Symbol>,
        /// When it is worth nothing any more.
        absolute_expiry_time: Option<Timestamp>,
        /// When it was made.
        creation_time: Option<Timestamp>,
        /// The group that it belongs to.
        group_id: Option<String>,
        /// Its place in the group.
        group_sequence: Option<u32>,
        /// The group that answers belong to.
        reply_to_group_id: Option<String>,
    }
}
