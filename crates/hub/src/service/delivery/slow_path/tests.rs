//! What waits for what, and what fails with it.

use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::task::Waker;

use floe::{EventsBuilder, OperationMode, ReplySink, SystemException};

use super::*;

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
fn events_without_a_connection_wait_for_each_other_unless_they_need_none() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    for is_here in [false, true] {
        let mut slow_path = SlowPath::new(&subscriber);
        slow_path.set_here(is_here);
        slow_path.send_later(&mut events(2));
        assert_eq!(slow_path.is_resending(), !is_here);
    }
}

#[test]
fn answers_to_what_was_under_way_when_its_delivery_panicked_settle_nothing() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    for event in events(3) {
        subscriber.publish(event.into(), Instant::now());
    }
    let mut taken = Vec::new();
    let _ = subscriber
        .lock()
        .subscription
        .take(3, usize::MAX, &mut taken);
    // They were being sent, and the first is answered already.
    subscriber.answered(0, Ok(None));
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
fn what_waits_for_room_is_overtaken_by_nothing() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    let polled = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    for (number, (polled, event)) in (0..).zip(polled.iter().cloned().zip(events(2))) {
        slow_path.slow.push_back(SlowDelivery {
            number,
            event,
            is_bound: true,
            is_first: true,
            has_begun: false,
            has_left: Arc::default(),
            answer: Box::pin(poll_fn(move |_| {
                polled.fetch_add(1, Ordering::Relaxed);
                Poll::Pending
            })),
        });
    }
    let poll = |slow_path: &mut SlowPath<'_>| {
        assert!(!slow_path.poll_slow(&mut Context::from_waker(Waker::noop())));
        let counts = polled.each_ref().map(|count| count.load(Ordering::Relaxed));
        (counts, slow_path.position().is_some())
    };
    assert_eq!(poll(&mut slow_path), ([1, 0], false));
    slow_path.slow[0].has_left.store(true, Ordering::Relaxed);
    assert_eq!(poll(&mut slow_path), ([2, 1], false));
    slow_path.slow[1].has_left.store(true, Ordering::Relaxed);
    assert_eq!(poll(&mut slow_path), ([3, 2], true));
}

#[tokio::test]
async fn what_comes_again_to_nobody_fails_together() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    for event in events(3) {
        subscriber.publish(event.into(), Instant::now());
    }
    let mut taken = Vec::new();
    assert_eq!(subscriber.take(3, usize::MAX, &mut taken).await, 3);
    subscriber.lock().in_flight().take_numbers(3);
    let lost = || InvokeError::NotDispatched(LocalError::Shutdown);
    let failed = (0..).zip(events(3));
    slow_path.see_to(
        failed
            .map(|(number, event)| (number, event, lost()))
            .collect(),
    );
    // Only the first finds out that nobody listens.
    let rest = slow_path.slow.range_mut(1..);
    rest.for_each(|slow| slow.answer = Box::pin(poll_fn(|_| panic!("it is not tried"))));
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
fn what_comes_again_leaves_before_what_came_after_it() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    // Two left at once; the others had no room.
    subscriber.lock().in_flight().take_numbers(2);
    slow_path.send_later(&mut events(2));
    let lost = || InvokeError::NotDispatched(LocalError::Shutdown);
    let failed = [1, 0].into_iter().zip(events(2));
    slow_path.see_to(
        failed
            .map(|(number, event)| (number, event, lost()))
            .collect(),
    );
    let numbers: Vec<_> = slow_path.slow.iter().map(|slow| slow.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert!(slow_path.is_resending());
}

#[tokio::test]
async fn what_is_under_way_where_each_takes_its_own_connection_outlives_one_that_fails_again() {
    let subscriber = Subscriber::unreachable(&Arc::default());
    let mut slow_path = SlowPath::new(&subscriber);
    slow_path.set_here(true);
    let mut sent = events_in(OperationMode::Idempotent, 4);
    for event in sent.clone() {
        subscriber.publish(event.into(), Instant::now());
    }
    subscriber.take(4, usize::MAX, &mut Vec::new()).await;
    let mut late = sent.split_off(3);
    slow_path.send_later(&mut sent);
    let gates = [(); 3].map(|()| Arc::<AtomicBool>::default());
    let gated = |number: usize, answer: fn() -> SlowAnswer| {
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
    slow_path.slow[0].answer = Box::pin(poll_fn(move |_| Poll::Ready(fails())));
    slow_path.slow[1].answer = gated(1, || Ok(None));
    slow_path.slow[2].answer = gated(2, || Ok(None));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(slow_path.poll_slow(context), "the first comes again");
    slow_path.slow[0].answer = gated(0, fails);
    slow_path.send_later(&mut late);
    slow_path.slow[3].answer = Box::pin(poll_fn(|_| panic!("it is not tried")));
    let mut poll = |open: usize| {
        gates[open].store(true, Ordering::Relaxed);
        let Poll::Ready(left) = slow_path.poll(context) else {
            panic!("nobody else sends");
        };
        let left = left.count;
        let accounts = subscriber.snapshot().accounts;
        (left, accounts.delivered, accounts.lost.failed)
    };
    assert_eq!(
        poll(2),
        (3, 1, 0),
        "it has its answer while the first has none"
    );
    // With the first fails what would have left behind it.
    assert_eq!(poll(0), (1, 1, 2));
    assert_eq!(poll(1), (0, 2, 2));
    assert!(!slow_path.is_resending());
}
