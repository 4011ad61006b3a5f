//! The order in which slow events leave, and which events fail together.

use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::task::Waker;
use std::time::Instant;

use floe::forwarding::{EventsBuilder, ReplySink};
use floe::{LocalError, OperationMode, SystemException};

use super::*;

fn runs(events: Vec<Event>) -> Vec<Events> {
    events.into_iter().map(Events::from).collect()
}

fn events(count: usize) -> Vec<Event> {
    events_in(OperationMode::Normal, count)
}

fn events_in(mode: OperationMode, count: usize) -> Vec<Event> {
    let is_idempotent = mode.is_idempotent();
    let mut builder = EventsBuilder::default();
    for _ in 0..count {
        let write = |bytes: &mut Vec<u8>| {
            let mode = if is_idempotent { 2 } else { 0 };
            bytes.extend(b"\x02op");
            bytes.extend([mode, 0, 6, 0, 0, 0, 1, 1]);
            Ok(())
        };
        builder.push_with(write).unwrap();
    }
    let mut events = Vec::new();
    builder.finish().unwrap().append_to(&mut events);
    events
}

#[test]
fn events_without_a_connection_wait_for_each_other_unless_collocated() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    for is_collocated in [false, true] {
        let mut slow_path = SlowPath::new(&subscriber);
        slow_path.set_collocated(is_collocated);
        slow_path.send(&mut runs(events(2)));
        assert_eq!(slow_path.is_resending(), !is_collocated);
    }
}

#[test]
fn replies_to_events_whose_delivery_panicked_settle_nothing() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    for event in events(3) {
        subscriber.publish(event.into(), false, Instant::now());
    }
    let mut taken = Vec::new();
    let _ = subscriber
        .lock()
        .subscription
        .take(3, usize::MAX, &mut taken, Instant::now);
    // The three events are being sent, and the reply to the first has come already.
    subscriber.answered(0..1, Ok(None));
    subscriber.settle_panicked();
    subscriber.returned(1..3);
    let snapshot = subscriber.snapshot();
    assert_eq!(
        (snapshot.accounts.lost.failed, snapshot.outstanding),
        (3, 0)
    );
    assert_eq!(
        (snapshot.accounts.offered, snapshot.accounts.delivered),
        (3, 0)
    );
    assert!(subscriber.is_online());
    assert_eq!(subscriber.lock().in_flight().take_numbers(1), 3);
}

#[test]
fn no_event_overtakes_one_that_waits_for_room() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    let polled = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    for (number, (polled, event)) in (0..).zip(polled.iter().cloned().zip(events(2))) {
        slow_path.pending.push_back(SlowDelivery {
            number,
            event,
            is_bound: true,
            is_first: true,
            has_begun: false,
            has_left: Arc::default(),
            reply: Box::pin(poll_fn(move |_| {
                polled.fetch_add(1, Ordering::Relaxed);
                Poll::Pending
            })),
        });
    }
    let poll = |slow_path: &mut SlowPath<'_>| {
        assert!(!slow_path.poll_pending(&mut Context::from_waker(Waker::noop())));
        let counts = polled.each_ref().map(|count| count.load(Ordering::Relaxed));
        (counts, slow_path.fast_position().is_some())
    };
    assert_eq!(poll(&mut slow_path), ([1, 0], false));
    slow_path.pending[0].has_left.store(true, Ordering::Relaxed);
    assert_eq!(poll(&mut slow_path), ([2, 1], false));
    slow_path.pending[1].has_left.store(true, Ordering::Relaxed);
    assert_eq!(poll(&mut slow_path), ([3, 2], true));
}

#[tokio::test]
async fn events_resent_to_an_unreachable_subscriber_fail_together() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    for event in events(3) {
        subscriber.publish(event.into(), false, Instant::now());
    }
    let mut taken = Vec::new();
    assert_eq!(subscriber.take(3, usize::MAX, &mut taken).await, 3);
    subscriber.lock().in_flight().take_numbers(3);
    let lost = || InvokeError::NotDispatched(LocalError::Shutdown);
    let failed = (0..).zip(events(3));
    slow_path.handle_failed(
        failed
            .map(|(number, event)| (number, event.into(), lost()))
            .collect(),
    );
    // Only the first event finds out that the subscriber is unreachable.
    let rest = slow_path.pending.range_mut(1..);
    rest.for_each(|slow| slow.reply = Box::pin(poll_fn(|_| panic!("it is not tried"))));
    poll_fn(|context| match slow_path.poll(context) {
        Poll::Ready(Load { count: 0, .. }) => Poll::Ready(()),
        _ => Poll::Pending,
    })
    .await;
    let snapshot = subscriber.snapshot();
    assert_eq!(
        (snapshot.accounts.lost.failed, snapshot.outstanding),
        (3, 0)
    );
    assert!(!slow_path.is_resending());
}

#[test]
fn events_sent_again_leave_before_later_events() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    // Two events left by the fast path; the other two had no room.
    subscriber.lock().in_flight().take_numbers(2);
    slow_path.send(&mut runs(events(2)));
    let lost = || InvokeError::NotDispatched(LocalError::Shutdown);
    let failed = [1, 0].into_iter().zip(events(2));
    slow_path.handle_failed(
        failed
            .map(|(number, event)| (number, event.into(), lost()))
            .collect(),
    );
    let numbers: Vec<_> = slow_path.pending.iter().map(|slow| slow.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert!(slow_path.is_resending());
}

#[tokio::test]
async fn an_event_on_its_own_connection_outlives_one_that_fails_again() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    slow_path.set_collocated(true);
    let mut sent = events_in(OperationMode::Idempotent, 4);
    for event in sent.clone() {
        subscriber.publish(event.into(), false, Instant::now());
    }
    subscriber.take(4, usize::MAX, &mut Vec::new()).await;
    let late = sent.split_off(3);
    slow_path.send(&mut runs(sent));
    let gates = [(); 3].map(|()| Arc::<AtomicBool>::default());
    let gated = |number: usize, answer: fn() -> SlowReply| {
        let gate = gates[number].clone();
        Box::pin(poll_fn(move |_| match gate.load(Ordering::Relaxed) {
            true => Poll::Ready(answer()),
            false => Poll::Pending,
        }))
    };
    let fails = || {
        let error = SystemException::UnknownException("not yet".to_owned());
        Err(InvokeError::System(error))
    };
    slow_path.pending[0].reply = Box::pin(poll_fn(move |_| Poll::Ready(fails())));
    slow_path.pending[1].reply = gated(1, || Ok(None));
    slow_path.pending[2].reply = gated(2, || Ok(None));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(slow_path.poll_pending(context), "the first is sent again");
    slow_path.pending[0].reply = gated(0, fails);
    slow_path.send(&mut runs(late));
    slow_path.pending[3].reply = Box::pin(poll_fn(|_| panic!("it is not tried")));
    let mut poll = |open: usize| {
        gates[open].store(true, Ordering::Relaxed);
        let Poll::Ready(left) = slow_path.poll(context) else {
            panic!("the scheduler does not send");
        };
        let left = left.count;
        let accounts = subscriber.snapshot().accounts;
        (left, accounts.delivered, accounts.lost.failed)
    };
    assert_eq!(poll(2), (3, 1, 0), "answered before the first one");
    // The event that was not sent yet fails with the first one.
    assert_eq!(poll(0), (1, 1, 2));
    assert_eq!(poll(1), (0, 2, 2));
    assert!(!slow_path.is_resending());
}
