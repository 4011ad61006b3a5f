//! Messages and their outcomes, both ways.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::event::{CommandError, Delivery, DeliveryId, Event, LinkId};
use super::link::Partial;
use super::session::{Incoming, Outgoing, Pending};
use super::{Connection, Fault, limit_error, shortened, window_fault};
use crate::condition::{self, AmqpError};
use crate::performative::{
    DeliveryState, Disposition, Outcome, Performative, ReceiverSettleMode, Role, SenderSettleMode,
    TAG_LEN_MAX, Transfer,
};

impl Connection {
    /// Sends a message to the peer on a link. With `settled`, its outcome does not matter.
    ///
    /// The peer may have asked for all messages to be settled, or for none, and then that holds. [`Event::Settled`] comes for
    /// those that are not.
    ///
    /// # Errors
    /// If the message was not taken.
    pub fn send(
        &mut self,
        id: LinkId,
        message: Bytes,
        settled: bool,
    ) -> Result<DeliveryId, CommandError> {
        let is_backlogged = self.is_backlogged();
        let unsettled_max = self.settings.limits.unsettled_max;
        let link = self.attached(id, Role::Sender)?;
        if link.credit == 0 {
            return Err(CommandError::NoCredit);
        }
        if message.len() as u64 > link.message_len_max {
            return Err(CommandError::TooLong);
        }
        if is_backlogged {
            return Err(CommandError::Backlogged);
        }
        let settled = match link.snd_settle_mode {
            SenderSettleMode::Settled => true,
            SenderSettleMode::Unsettled => false,
            SenderSettleMode::Mixed => settled,
        };
        let (channel, handle) = (link.session.0, link.handle);
        let session = self.sessions.get_mut(&channel).expect("of its link");
        if !settled && session.outgoing.len() >= unsettled_max {
            return Err(CommandError::Unsettled);
        }
        let delivery = session.outgoing_delivery();
        if !settled {
            session.outgoing.insert(delivery, Outgoing { link: id });
        }
        self.pending_len += message.len();
        session.pending.push_back(Pending::Transfer {
            link: id,
            handle,
            delivery,
            settled,
            is_begun: false,
            payload: message,
        });
        let link = self.attached(id, Role::Sender).expect("it was attached");
        link.credit -= 1;
        link.delivery_count = link.delivery_count.wrapping_add(1);
        self.pump_session(channel);
        Ok(DeliveryId(delivery))
    }

    /// Settles a message that has come. Does nothing if the peer has settled it meanwhile. A long text of an error is cut.
    ///
    /// # Errors
    /// [`CommandError::Gone`].
    pub fn settle(
        &mut self,
        id: LinkId,
        delivery: DeliveryId,
        outcome: Outcome,
    ) -> Result<(), CommandError> {
        let link = self.attached(id, Role::Receiver)?;
        let channel = link.session.0;
        let is_last = link.rcv_settle_mode == ReceiverSettleMode::First;
        let session = self.sessions.get_mut(&channel).expect("of its link");
        let incoming = session.incoming.get_mut(&delivery.0);
        let Some(incoming) = incoming.filter(|incoming| incoming.link == id) else {
            return Ok(());
        };
        if incoming.is_told {
            return Err(CommandError::NotNow);
        }
        incoming.is_told = true;
        if is_last {
            session.incoming.remove(&delivery.0);
        }
        let outcome = Some(match outcome {
            Outcome::Rejected(error) => Outcome::Rejected(error.map(shortened)),
            other => other,
        });
        self.output
            .disposition(channel, Role::Receiver, delivery.0 as u32, is_last, outcome);
        Ok(())
    }

    /// Writes the messages for which the peer has room.
    pub(super) fn pump(&mut self) {
        let channels: Vec<u16> = self
            .sessions
            .iter()
            .filter(|(_, session)| !session.pending.is_empty())
            .map(|(channel, _)| *channel)
            .collect();
        for channel in channels {
            self.pump_session(channel);
        }
    }

    fn pump_session(&mut self, channel: u16) {
        let session = self.sessions.get_mut(&channel).expect("the caller looked");
        loop {
            // A link is described in its turn, when the messages before it have left.
            let done = match session.pending.front_mut() {
                None => return,
                Some(Pending::Drained {
                    handle,
                    delivery_count,
                    ..
                }) => {
                    let (handle, count) = (*handle, *delivery_count);
                    let mut flow = session.flow();
                    flow.handle = Some(handle);
                    flow.delivery_count = Some(count);
                    flow.link_credit = Some(0);
                    flow.drain = true;
                    self.output.performative(channel, &Performative::Flow(flow));
                    true
                }
                Some(Pending::Transfer { .. }) => {
                    if !session.take_window() {
                        return;
                    }
                    let Some(Pending::Transfer {
                        handle,
                        delivery,
                        settled,
                        is_begun,
                        payload,
                        ..
                    }) = session.pending.front_mut()
                    else {
                        unreachable!("it was looked at")
                    };
                    let id = *delivery as u32;
                    let transfer = if *is_begun {
                        Transfer {
                            handle: *handle,
                            ..Transfer::default()
                        }
                    } else {
                        Transfer {
                            handle: *handle,
                            delivery_id: Some(id),
                            delivery_tag: Some(Bytes::copy_from_slice(&id.to_be_bytes())),
                            message_format: Some(0),
                            settled: *settled,
                            ..Transfer::default()
                        }
                    };
                    *is_begun = true;
                    let before = payload.len();
                    self.output.transfer(channel, transfer, payload);
                    self.pending_len -= before - payload.len();
                    payload.is_empty()
                }
            };
            if done {
                session.pending.pop_front();
            }
        }
    }

    pub(super) fn handle_transfer(
        &mut self,
        channel: u16,
        transfer: Transfer,
        payload: Bytes,
    ) -> Result<(), Fault> {
        let session = self.sessions.get_mut(&channel).expect("it was looked up");
        let counted = session.handle_transfer();
        if counted.map_err(|error| window_fault(channel, &error))? {
            self.write_flow(channel, None);
        }
        let Some(id) = self.link_at(channel, transfer.handle, "transfer")? else {
            return Ok(());
        };
        let link = self.links.get_mut(&id).expect("it was looked up");
        let link_fault = |kind, text: &str| Err(Fault::Link(id, AmqpError::new(kind, text)));
        if link.role != Role::Receiver {
            let text = "expected a transfer of a sending end, got one of a receiving end";
            return link_fault(condition::NOT_ALLOWED, text);
        }
        if transfer.resume {
            let text = "expected a new delivery: resuming deliveries is not implemented";
            return link_fault(condition::NOT_IMPLEMENTED, text);
        }
        if matches!(transfer.state, Some(DeliveryState::Other(_))) {
            let text =
                "expected a delivery without a transaction: transactions are not implemented";
            return link_fault(condition::NOT_IMPLEMENTED, text);
        }
        let mut partial = match link.partial.take() {
            Some(partial) => {
                self.partial_len -= partial.payload.len();
                let id = transfer.delivery_id.unwrap_or(partial.delivery_id);
                if id != partial.delivery_id {
                    let text = "expected the rest of a delivery, got another delivery";
                    return link_fault(condition::INVALID_FIELD, text);
                }
                partial
            }
            None => {
                let Some(delivery_id) = transfer.delivery_id else {
                    let text = "expected delivery-id in the first transfer of a delivery, got none";
                    return link_fault(condition::INVALID_FIELD, text);
                };
                let tag_len = transfer.delivery_tag.as_ref().map(Bytes::len);
                if tag_len.is_none_or(|len| len > TAG_LEN_MAX) {
                    let text = "expected delivery-tag of at most 32 bytes in the first transfer of a delivery";
                    return link_fault(condition::INVALID_FIELD, text);
                }
                if !link.use_credit() {
                    let text = "expected deliveries within the credit of the link, got more";
                    return link_fault(condition::TRANSFER_LIMIT_EXCEEDED, text);
                }
                let session = self.sessions.get_mut(&channel).expect("it was looked up");
                Partial {
                    delivery_id,
                    sequence: session.incoming_delivery(delivery_id),
                    settled: false,
                    format: transfer.message_format.unwrap_or_default(),
                    payload: BytesMut::new(),
                }
            }
        };
        if transfer.aborted {
            return Ok(());
        }
        partial.settled |= transfer.settled;
        let len = partial.payload.len() + payload.len();
        if len as u64 > link.message_len_max {
            let text = format!(
                "expected a message of at most {} bytes",
                link.message_len_max
            );
            return link_fault(condition::MESSAGE_SIZE_EXCEEDED, &text);
        }
        if transfer.more {
            self.partial_len += len;
            let (total, max) = (self.partial_len, self.settings.limits.partial_len_max);
            partial.payload.extend_from_slice(&payload);
            link.partial = Some(partial);
            if total > max {
                let text = format!("expected unfinished messages of at most {max} bytes together");
                return Err(Fault::Link(id, limit_error(text)));
            }
            return Ok(());
        }
        // A message that came at once is passed on as it lies in the input.
        let message = if partial.payload.is_empty() {
            payload
        } else {
            partial.payload.extend_from_slice(&payload);
            partial.payload.freeze()
        };
        if !partial.settled {
            let max = self.settings.limits.unsettled_max;
            let session = self.sessions.get_mut(&channel).expect("it was looked up");
            let incoming = &mut session.incoming;
            if incoming.len() >= max || incoming.contains_key(&partial.sequence) {
                let text = format!("expected new deliveries, at most {max} of them not settled");
                return Err(Fault::Session(channel, limit_error(text)));
            }
            let delivery = Incoming {
                link: id,
                is_told: false,
            };
            incoming.insert(partial.sequence, delivery);
        }
        self.events.push_back(Event::Delivery(Delivery {
            link: id,
            delivery: DeliveryId(partial.sequence),
            settled: partial.settled,
            format: partial.format,
            message,
        }));
        Ok(())
    }

    pub(super) fn handle_disposition(
        &mut self,
        channel: u16,
        disposition: &Disposition,
    ) -> Result<(), Fault> {
        let session_fault =
            |kind, text: String| Err(Fault::Session(channel, AmqpError::new(kind, text)));
        if matches!(disposition.state, Some(DeliveryState::Other(_))) {
            let text = "expected an outcome: transactions are not implemented";
            return session_fault(condition::NOT_IMPLEMENTED, text.to_owned());
        }
        let (first, last) = (disposition.first, disposition.last);
        let last = last.unwrap_or(first);
        let session = self.sessions.get_mut(&channel).expect("it was looked up");
        let numbers = match disposition.role {
            Role::Receiver => (session.known_outgoing(first), session.known_outgoing(last)),
            Role::Sender => (session.known_incoming(first), session.known_incoming(last)),
        };
        if numbers.0 > numbers.1 {
            let text = format!("expected a range of deliveries, got {first} to {last}");
            return session_fault(condition::INVALID_FIELD, text);
        }
        let range = numbers.0..=numbers.1;
        if disposition.role == Role::Sender {
            if disposition.settled {
                let known: Vec<u64> = session.incoming.range(range).map(|(n, _)| *n).collect();
                for number in known {
                    session.incoming.remove(&number);
                }
            }
            return Ok(());
        }
        let outcome = match &disposition.state {
            Some(DeliveryState::Outcome(outcome)) => Some(Arc::new(outcome.clone())),
            _ if disposition.settled => None,
            // It is on its way, and that is all.
            _ => return Ok(()),
        };
        let done: Vec<(u64, LinkId)> = session
            .outgoing
            .range(range)
            .map(|(number, outgoing)| (*number, outgoing.link))
            .collect();
        for (number, link) in done {
            session.outgoing.remove(&number);
            self.events.push_back(Event::Settled {
                link,
                delivery: DeliveryId(number),
                outcome: outcome.clone(),
            });
            if !disposition.settled {
                // The peer settles second.
                self.output.disposition(
                    channel,
                    Role::Sender,
                    number as u32,
                    true,
                    outcome.as_deref().map(Outcome::without_details),
                );
            }
        }
        Ok(())
    }
}
