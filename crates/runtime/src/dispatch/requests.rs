//! Requests that a dispatcher gets in one call.
//!
//! The first request always belongs to the dispatcher. The connection that read them lends the others
//! (`lent_requests.rs`).

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::time::Instant;

use floe_wire::message::SystemException;

use super::{DispatchSlot, Dispatched, LentRequests, Request, Response, TakenEvents};

/// One or more requests to one object, which arrived together.
pub struct Requests {
    pub(crate) front: Request,
    pub(crate) rest: LentRequests,
    /// True if the connection that read them passes them, and nothing in between waits for their replies.
    pub(super) is_direct: bool,
}

impl Requests {
    /// The first request, and those that follow it, as a connection passes them.
    #[inline]
    pub(crate) fn new(front: Request, rest: LentRequests) -> Self {
        Self {
            front,
            rest,
            is_direct: true,
        }
    }

    /// The request at the front.
    pub fn front(&self) -> &Request {
        &self.front
    }

    /// Answers one request after another.
    ///
    /// If `answer` fails or panics for a request, only that request is answered with an exception.
    pub fn each<A, F>(self, slot: &mut DispatchSlot, answer: A)
    where
        A: FnMut(Request) -> F + Send + 'static,
        F: Future<Output = Result<Response, SystemException>> + Send + 'static,
    {
        slot.run(answer_each(self, answer));
    }

    /// Takes all requests undecoded, as events, and passes them to `take` in their order: mostly all together, and long
    /// ones by themselves. `take` also gets the approximate time at which they arrived. The future that it returns
    /// answers the requests.
    ///
    /// If `take` panics, the events that were passed to it are lost.
    pub fn take_events(self, take: impl FnMut(crate::event::Events, Instant)) -> TakenEvents {
        TakenEvents::new(self.front, self.rest, take)
    }
}

/// A single request.
impl From<Request> for Requests {
    #[inline]
    fn from(front: Request) -> Self {
        Self {
            front,
            rest: LentRequests::default(),
            is_direct: false,
        }
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("front", &self.front)
            .finish_non_exhaustive()
    }
}

async fn answer_each<A, F>(requests: Requests, mut answer: A) -> Dispatched
where
    A: FnMut(Request) -> F,
    F: Future<Output = Dispatched>,
{
    let Requests {
        front: mut request,
        mut rest,
        ..
    } = requests;
    loop {
        let response = {
            let answer = pin!(answer(request));
            rest.lent_until_pending(answer).await?
        };
        match rest.next(response) {
            Ok(next) => request = next,
            Err(response) => return Ok(response),
        }
    }
}
