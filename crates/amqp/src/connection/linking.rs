//! Attaching and detaching links, and their credit.

use super::event::{AttachAcceptance, AttachRequest, CommandError, Event, LinkId, SessionId};
use super::link::{Link, LinkState};
use super::session::Pending;
use super::{Connection, Fault, limit_error, shortened};
use crate::condition::{self, AmqpError};
use crate::performative::{Attach, Detach, Flow, Performative, Role};
use crate::terminus::AnyTarget;

impl Connection {
    /// Answers [`Event::Attach`] with yes.
    ///
    /// # Errors
    /// [`CommandError::Gone`] or [`CommandError::NotNow`].
    pub fn accept_attach(
        &mut self,
        id: LinkId,
        acceptance: AttachAcceptance,
    ) -> Result<(), CommandError> {
        let link = self.links.get(&id).ok_or(CommandError::Gone)?;
        if link.is_answered || link.state == LinkState::DetachSent {
            return Err(CommandError::NotNow);
        }
        let credit = acceptance.credit;
        self.answer_attach(id, acceptance);
        let link = self.links.get(&id).expect("it was there");
        let (role, state, session) = (link.role, link.state, link.session);
        if state == LinkState::Attached {
            match role {
                Role::Receiver if credit > 0 => self.set_credit(id, credit)?,
                Role::Sender if link.credit > 0 || link.drain => {
                    self.events.push_back(Event::Credit {
                        link: id,
                        credit: link.credit,
                        drain: link.drain,
                    });
                }
                _ => {}
            }
        }
        debug_assert!(self.sessions.contains_key(&session.0));
        self.check_output();
        Ok(())
    }

    /// Answers [`Event::Attach`] with no. The link is gone.
    ///
    /// # Errors
    /// [`CommandError::Gone`] or [`CommandError::NotNow`].
    pub fn refuse_attach(&mut self, id: LinkId, error: AmqpError) -> Result<(), CommandError> {
        let link = self.links.get(&id).ok_or(CommandError::Gone)?;
        if link.is_answered {
            return Err(CommandError::NotNow);
        }
        self.detach(id, true, Some(error))
    }

    /// Detaches a link, or answers [`Event::Detached`]. The link is gone.
    ///
    /// With `closed` it ends, and without it may come back. An error tells the peer why.
    ///
    /// # Errors
    /// [`CommandError::Gone`].
    pub fn detach(
        &mut self,
        id: LinkId,
        closed: bool,
        error: Option<AmqpError>,
    ) -> Result<(), CommandError> {
        let link = self.links.get(&id).ok_or(CommandError::Gone)?;
        if link.state == LinkState::DetachSent {
            return Err(CommandError::Gone);
        }
        // The refusal of a link is an attach without a terminus, and then the detach. Source: part 2, 2.6.3.
        if !link.is_answered {
            self.answer_attach(id, AttachAcceptance::default());
        }
        let link = self.links.get_mut(&id).expect("it was there");
        let (channel, handle) = (link.session.0, link.handle);
        let is_last = link.state == LinkState::DetachReceived;
        link.state = LinkState::DetachSent;
        self.purge(id);
        let detach = Detach {
            handle,
            closed,
            error: error.map(shortened),
        };
        let detach = Performative::Detach(detach);
        self.output.performative(channel, &detach);
        if is_last {
            self.remove_link(id);
        }
        self.check_output();
        Ok(())
    }

    /// Lets the peer send this many messages more on a link, those that it may already send included.
    ///
    /// # Errors
    /// [`CommandError::Gone`], or [`CommandError::NotNow`] if this is not the receiving end.
    pub fn set_credit(&mut self, id: LinkId, credit: u32) -> Result<(), CommandError> {
        let link = self.attached(id, Role::Receiver)?;
        link.grant(credit);
        let channel = link.session.0;
        self.write_flow(channel, Some(id));
        Ok(())
    }

    /// How many messages the peer takes, or may send, on a link.
    pub fn credit(&self, id: LinkId) -> u32 {
        self.links.get(&id).map_or(0, |link| link.credit)
    }

    /// Gives back the credit of a link that cannot be used now, as the peer asked by [`Event::Credit`].
    ///
    /// # Errors
    /// [`CommandError::Gone`], or [`CommandError::NotNow`] if the peer has not asked for it.
    pub fn drained(&mut self, id: LinkId) -> Result<(), CommandError> {
        let link = self.attached(id, Role::Sender)?;
        if !link.drain {
            return Err(CommandError::NotNow);
        }
        link.delivery_count = link.delivery_count.wrapping_add(link.credit);
        link.credit = 0;
        link.drain = false;
        let pending = Pending::Drained {
            link: id,
            handle: link.handle,
            delivery_count: link.delivery_count,
        };
        let channel = link.session.0;
        let session = self.sessions.get_mut(&channel).expect("of its link");
        session.pending.push_back(pending);
        self.pump();
        Ok(())
    }

    pub(super) fn attached(&mut self, id: LinkId, role: Role) -> Result<&mut Link, CommandError> {
        let link = self.links.get_mut(&id).ok_or(CommandError::Gone)?;
        match link.state {
            LinkState::Attached if link.is_answered && link.role == role => Ok(link),
            LinkState::Attached => Err(CommandError::NotNow),
            LinkState::DetachReceived | LinkState::DetachSent => Err(CommandError::Gone),
        }
    }

    pub(super) fn handle_attach(&mut self, channel: u16, attach: Attach) -> Result<(), Fault> {
        let session_fault = |error| Fault::Session(channel, error);
        self.check_name("the name of a link", &attach.name)
            .map_err(session_fault)?;
        let session = &self.sessions[&channel];
        let handle_max = (session.handle_max).min(
            u32::try_from(self.settings.limits.links_max.saturating_sub(1)).unwrap_or(u32::MAX),
        );
        let handle = attach.handle;
        if session.handles.contains_key(&handle) {
            let text = format!("expected a free handle, got {handle}, which a link has");
            return Err(session_fault(AmqpError::new(
                condition::HANDLE_IN_USE,
                text,
            )));
        }
        if handle > handle_max {
            let text = format!("expected a handle up to {handle_max}, got {handle}");
            return Err(session_fault(AmqpError::new(condition::NOT_ALLOWED, text)));
        }
        if self.links.len() >= self.settings.limits.links_max {
            let text = format!("expected at most {} links", self.links.len());
            return Err(session_fault(limit_error(text)));
        }
        // A sender and a receiver of one name are two links. Source: part 2, 2.6.1.
        let is_taken = session.handles.values().any(|id| {
            let link = &self.links[id];
            link.name == attach.name
                && link.role != attach.role
                && link.state != LinkState::DetachSent
        });
        let id = self.insert_link(channel, &attach);
        if is_taken {
            let text = format!(
                "expected a name that no link of the session has, got `{}`",
                attach.name
            );
            return Err(Fault::Link(
                id,
                AmqpError::new(condition::RESOURCE_LOCKED, text),
            ));
        }
        self.request_attach(id, attach)
    }

    fn insert_link(&mut self, channel: u16, attach: &Attach) -> LinkId {
        let id = LinkId(self.next_link);
        self.next_link += 1;
        let role = match attach.role {
            Role::Sender => Role::Receiver,
            Role::Receiver => Role::Sender,
        };
        let own_max = self.settings.limits.message_len_max as u64;
        let message_len_max = match role {
            Role::Sender => attach.max_message_size.filter(|len| *len > 0),
            Role::Receiver => Some(own_max),
        };
        let link = Link {
            session: SessionId(channel),
            handle: attach.handle,
            name: attach.name.clone(),
            role,
            state: LinkState::Attached,
            is_shown: false,
            is_answered: false,
            snd_settle_mode: attach.snd_settle_mode,
            rcv_settle_mode: attach.rcv_settle_mode,
            delivery_count: match role {
                Role::Sender => 0,
                Role::Receiver => attach.initial_delivery_count.unwrap_or_default(),
            },
            credit: 0,
            credit_before: 0,
            drain: false,
            message_len_max: message_len_max.unwrap_or(u64::MAX),
            partial: None,
        };
        self.links.insert(id, link);
        let session = self.sessions.get_mut(&channel).expect("it was looked up");
        session.handles.insert(attach.handle, id);
        id
    }

    fn request_attach(&mut self, id: LinkId, attach: Attach) -> Result<(), Fault> {
        let refuse = |kind, text: &str| Err(Fault::Link(id, AmqpError::new(kind, text.to_owned())));
        if attach.role == Role::Sender && attach.initial_delivery_count.is_none() {
            let text = "expected initial-delivery-count from the sending end, got none";
            return refuse(condition::INVALID_FIELD, text);
        }
        if attach.unsettled.is_some_and(|map| !map.is_empty_map()) {
            let text = "expected a link without unsettled deliveries: resuming deliveries is not implemented";
            return refuse(condition::NOT_IMPLEMENTED, text);
        }
        let target = match attach.target {
            Some(AnyTarget::Node(target)) => Some(target),
            None => None,
            Some(AnyTarget::Coordinator(_)) => {
                let text = "expected a target that is a node: transactions are not implemented";
                return refuse(condition::NOT_IMPLEMENTED, text);
            }
        };
        let addresses = [
            attach.source.as_ref().and_then(|s| s.address.as_deref()),
            target.as_ref().and_then(|target| target.address.as_deref()),
        ];
        for address in addresses.into_iter().flatten() {
            let checked = self.check_name("an address", address);
            checked.map_err(|error| Fault::Link(id, error))?;
        }
        let link = self.links.get_mut(&id).expect("it was inserted");
        link.is_shown = true;
        let session = link.session;
        self.events.push_back(Event::Attach(Box::new(AttachRequest {
            link: id,
            session,
            name: attach.name,
            peer_role: attach.role,
            source: attach.source,
            target,
            snd_settle_mode: attach.snd_settle_mode,
            rcv_settle_mode: attach.rcv_settle_mode,
            max_message_size: attach.max_message_size.filter(|len| *len > 0),
            offered_capabilities: attach.offered_capabilities,
            desired_capabilities: attach.desired_capabilities,
            properties: attach.properties,
        })));
        Ok(())
    }

    fn answer_attach(&mut self, id: LinkId, acceptance: AttachAcceptance) {
        let own_max = self.settings.limits.message_len_max as u64;
        let link = self.links.get_mut(&id).expect("the caller has looked");
        link.is_answered = true;
        let is_sender = link.role == Role::Sender;
        let attach = Attach {
            name: link.name.clone(),
            handle: link.handle,
            role: link.role,
            snd_settle_mode: link.snd_settle_mode,
            rcv_settle_mode: link.rcv_settle_mode,
            source: acceptance.source,
            target: acceptance.target.map(AnyTarget::Node),
            unsettled: None,
            incomplete_unsettled: false,
            initial_delivery_count: is_sender.then_some(link.delivery_count),
            max_message_size: (!is_sender).then_some(own_max),
            offered_capabilities: acceptance.offered_capabilities,
            desired_capabilities: Vec::new(),
            properties: acceptance.properties,
        };
        let channel = link.session.0;
        let attach = Performative::Attach(Box::new(attach));
        self.output.performative(channel, &attach);
    }

    /// The link that a frame names; `None` if this side has detached it, so that the frame does not matter.
    pub(super) fn link_at(
        &self,
        channel: u16,
        handle: u32,
        frame: &str,
    ) -> Result<Option<LinkId>, Fault> {
        let id = self.sessions[&channel].handles.get(&handle).copied();
        let Some(id) = id else {
            let text =
                format!("expected the handle of an attached link, got {frame} for handle {handle}");
            return Err(Fault::Session(
                channel,
                AmqpError::new(condition::UNATTACHED_HANDLE, text),
            ));
        };
        match self.links[&id].state {
            LinkState::Attached => Ok(Some(id)),
            LinkState::DetachSent => Ok(None),
            LinkState::DetachReceived => {
                let text = format!("expected nothing after the detach of a link, got {frame}");
                Err(Fault::Session(
                    channel,
                    AmqpError::new(condition::UNATTACHED_HANDLE, text),
                ))
            }
        }
    }

    pub(super) fn handle_link_flow(&mut self, id: LinkId, flow: &Flow) {
        let link = self.links.get_mut(&id).expect("it was looked up");
        if link.handle_flow(flow) && link.is_answered {
            self.events.push_back(Event::Credit {
                link: id,
                credit: link.credit,
                drain: link.drain,
            });
        }
    }

    pub(super) fn handle_detach(&mut self, channel: u16, detach: Detach) -> Result<(), Fault> {
        let id = self.sessions[&channel].handles.get(&detach.handle);
        let is_over = id.is_some_and(|id| self.links[id].state == LinkState::DetachSent);
        if let Some(id) = id.copied().filter(|_| is_over) {
            self.remove_link(id);
            return Ok(());
        }
        let id = self.link_at(channel, detach.handle, "detach")?;
        let id = id.expect("those that this side has detached are handled");
        self.purge(id);
        let link = self.links.get_mut(&id).expect("it was looked up");
        link.state = LinkState::DetachReceived;
        self.events.push_back(Event::Detached {
            link: id,
            closed: detach.closed,
            error: detach.error,
        });
        Ok(())
    }

    pub(super) fn fail_link(&mut self, id: LinkId, error: AmqpError) {
        let Some(link) = self.links.get(&id) else {
            return;
        };
        // The program need not know that a link failed which it has never seen.
        let is_known = link.is_shown;
        let error = shortened(error);
        if self.detach(id, true, Some(error.clone())).is_ok() && is_known {
            self.events.push_back(Event::LinkFailed { link: id, error });
        }
    }

    /// Drops the parts of messages that a link has, and those that wait to be sent.
    fn purge(&mut self, id: LinkId) {
        let link = self.links.get_mut(&id).expect("the caller has looked");
        let partial = link.partial.take();
        self.partial_len -= partial.map_or(0, |partial| partial.payload.len());
        let Some(session) = self.sessions.get_mut(&link.session.0) else {
            return;
        };
        let pending_len = &mut self.pending_len;
        session.pending.retain(|pending| {
            let stays = pending.link() != id;
            if let (false, Pending::Transfer { payload, .. }) = (stays, pending) {
                *pending_len -= payload.len();
            }
            stays
        });
        session.incoming.retain(|_, delivery| delivery.link != id);
        session.outgoing.retain(|_, delivery| delivery.link != id);
    }

    fn remove_link(&mut self, id: LinkId) {
        if let Some(link) = self.links.remove(&id)
            && let Some(session) = self.sessions.get_mut(&link.session.0)
        {
            session.handles.remove(&link.handle);
        }
    }
}
