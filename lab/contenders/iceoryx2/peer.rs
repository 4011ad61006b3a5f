//! The scenario `events` with iceoryx2: publishers put events into memory that subscribers share, and wake them when a
//! batch is there, or each event. There is no service: they meet by name, and whoever comes first makes what is shared.
//! A publisher for which a subscriber has no room waits, and drops nothing.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{event, publish_subscribe};

use crate::contender::Failure;
use crate::contender::events::case::Case;
use crate::contender::events::publishing::publish_all;
use crate::contender::events::tally::Tally;
use crate::measure::Effort;

/// Publishers, and subscribers, that a run may have, and as many again that may not yet be gone.
const PORTS_MAX: usize = 64;

/// Events of a publisher that wait for a subscriber: more than a batch, or it would wait for one that it has not yet woken.
const ROOM: usize = 4_096;

/// How long a subscriber waits before it looks whether all is over.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn serve() -> Result<(), Failure> {
    Err("there is no service between publishers and subscribers of iceoryx2".into())
}

pub(crate) fn publish(
    case: Case,
    effort: Effort,
    address: &str,
    index: usize,
) -> Result<(), Failure> {
    let meeting = Meeting::new(address)?;
    let publisher = meeting
        .events
        .publisher_builder()
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .create()?;
    let notifier: Notifier<_> = meeting.bells.notifier_builder().create()?;
    publish_all(case, effort, index, |numbers| {
        for number in numbers {
            publisher.send_copy(*number)?;
        }
        notifier.notify()?;
        Ok(())
    })
}

pub(crate) fn subscribe(case: Case, effort: Effort, address: &str) -> Result<(), Failure> {
    let meeting = Meeting::new(address)?;
    let subscriber = meeting.events.subscriber_builder().create()?;
    let listener: Listener<_> = meeting.bells.listener_builder().create()?;
    let mut tally = Tally::new(case, effort);
    let is_over = end_of_stdin();
    while !is_over.load(Ordering::Relaxed) {
        listener.timed_wait(|_| (), PAUSE)?;
        while let Some(sample) = subscriber.receive()? {
            tally.take(*sample)?;
        }
    }
    Ok(())
}

/// The things that publishers and subscribers share. What is dropped by the last of them leaves nothing behind.
struct Meeting {
    events: publish_subscribe::PortFactory<ipc::Service, i64, ()>,
    bells: event::PortFactory<ipc::Service>,
    _node: Node<ipc::Service>,
}

impl Meeting {
    fn new(name: &str) -> Result<Self, Failure> {
        set_log_level(LogLevel::Error);
        let node = NodeBuilder::new()
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()?;
        let name: ServiceName = name.try_into()?;
        let events = node
            .service_builder(&name)
            .publish_subscribe::<i64>()
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size(ROOM)
            .max_publishers(PORTS_MAX)
            .max_subscribers(PORTS_MAX)
            .max_nodes(2 * PORTS_MAX)
            .open_or_create()?;
        let bells = node
            .service_builder(&name)
            .event()
            .max_notifiers(PORTS_MAX)
            .max_listeners(PORTS_MAX)
            .max_nodes(2 * PORTS_MAX)
            .open_or_create()?;
        Ok(Self {
            events,
            bells,
            _node: node,
        })
    }
}

/// Becomes true when all is over.
fn end_of_stdin() -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_over);
    std::thread::spawn(move || {
        // A broken stdin is as good as an ended one.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        seen.store(true, Ordering::Relaxed);
    });
    is_over
}
