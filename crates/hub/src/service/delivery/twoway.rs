//! Delivery with answers: a few requests at a time.

use floe::{Event, InvokeError, Outcome};

use super::in_flight::InFlight;
use crate::core::Turn;
use crate::service::subscriber::Subscriber;

/// Delivers until the subscription ends; answers that are outstanding then are waited for.
pub(super) async fn run(subscriber: &Subscriber, outstanding_max: usize) {
    let deliver = |event: Event| {
        let proxy = subscriber.proxy().clone();
        async move { proxy.forward(&event).await }
    };
    let mut in_flight = InFlight::new();
    let mut events = Vec::new();
    loop {
        // What is under way finds its connection first: events started meanwhile could overtake it.
        let is_reconnecting = in_flight.len() > 0 && !subscriber.proxy().is_connected();
        let room = if is_reconnecting {
            0
        } else {
            outstanding_max - in_flight.len()
        };
        if room > 0 {
            match subscriber.next_turn(room, usize::MAX, &mut events).await {
                Turn::Deliver => {
                    if let Err(error) = connect(subscriber, in_flight.len()).await {
                        for _ in events.drain(..).flat_map(|run| 0..run.len()) {
                            subscriber.settle(1, Err::<Option<Outcome>, _>(error.clone()));
                        }
                    }
                    for run in events.drain(..) {
                        run.each().for_each(|event| in_flight.start(deliver(event)));
                    }
                    // Until there is no room or nothing queued: only a parked delivery is woken.
                    continue;
                }
                Turn::Park => {}
                Turn::End => break,
            }
        }
        tokio::select! {
            result = in_flight.next(), if in_flight.len() > 0 => subscriber.settle(1, result),
            () = subscriber.woken(), if in_flight.len() < outstanding_max => {}
        }
    }
    while in_flight.len() > 0 {
        let result = in_flight.next().await;
        subscriber.settle(1, result);
    }
}

/// Connects before the first of several events is sent, so that they leave in their order.
async fn connect(subscriber: &Subscriber, in_flight: usize) -> Result<(), InvokeError> {
    if in_flight > 0 || subscriber.proxy().is_connected() {
        return Ok(());
    }
    subscriber.proxy().connect().await
}
