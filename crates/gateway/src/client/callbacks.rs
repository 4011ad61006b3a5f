//! Requests of servers to objects of a client, each dispatched once.

use std::sync::{Arc, Mutex};

use floe::dispatch::{DispatchSlot, Request, Requests, Response};
use floe::forwarding::Event;
use floe::message::Outcome;
use floe::{Adapter, Dispatcher, InvokeError, SystemException, TypedProxy};
use tokio::sync::watch;

use super::session::lock;
use crate::core::{Admission, DedupWindow};
use crate::service::{Answer, begin, numbers, with_context};

/// Dispatches requests of the gateway to the objects of an adapter.
pub(super) struct Callbacks {
    objects: Adapter,
    seen: Mutex<DedupWindow<watch::Receiver<Option<Answer>>>>,
}

/// The largest number of requests whose answers are kept. The gateway keeps no more without an answer.
const WINDOW_MAX: usize = 100_000;

impl Callbacks {
    pub(super) fn new(objects: Adapter) -> Self {
        Self {
            objects,
            seen: Mutex::new(DedupWindow::new(WINDOW_MAX)),
        }
    }
}

impl Dispatcher for Callbacks {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().answer(request));
    }
}

impl Callbacks {
    async fn answer(self: Arc<Self>, request: Request) -> Result<Response, SystemException> {
        let mut context = request.current().context();
        let Some((number, floor)) = numbers(&context) else {
            let answer = self.call(&request, request.event()).await;
            return respond(request, answer);
        };
        let (done, answer) = watch::channel(None);
        let admission = lock(&self.seen).admit(number, floor, || answer);
        let mut answer = match admission {
            Admission::New(answer) => {
                context.retain(|key, _| !key.starts_with("floe."));
                let event = with_context(&request.event(), &context);
                let call = self.object_call(&request, event);
                match begin(call).await {
                    Ok(answer) => drop(done.send_replace(Some(answer))),
                    // In a task: the request is dispatched also if the connection breaks meanwhile.
                    Err(call) => drop(tokio::spawn(async move {
                        done.send_replace(Some(call.await));
                    })),
                }
                answer
            }
            Admission::Seen(answer) => answer,
            Admission::Stale | Admission::Full => {
                let text = "the gateway repeats a request that has its answer".to_owned();
                return Err(SystemException::UnknownException(text));
            }
        };
        let answered = answer.wait_for(Option::is_some).await;
        let answered = answered.ok().and_then(|answer| answer.clone());
        respond(request, answered.unwrap_or(Ok(None)))
    }

    async fn call(&self, request: &Request, event: Event) -> Answer {
        self.object_call(request, event).await
    }

    /// A call of the object, within this process.
    fn object_call(
        &self,
        request: &Request,
        event: Event,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let object = self.objects.proxy(request.current().identity());
        let object = object
            .ice_facet(request.current().facet())
            .ice_router(None)
            .ice_collocation_optimized(true);
        async move {
            match object.forward(&event).await {
                Ok(outcome) => Ok(outcome),
                Err(InvokeError::System(exception)) => Err(exception),
                Err(error) => Err(SystemException::UnknownLocalException(error.to_string())),
            }
        }
    }
}

fn respond(
    request: Request,
    answer: Result<Option<Outcome>, SystemException>,
) -> Result<Response, SystemException> {
    match answer? {
        Some(outcome) => request.respond(&outcome),
        None => request.returned_nothing(),
    }
}
