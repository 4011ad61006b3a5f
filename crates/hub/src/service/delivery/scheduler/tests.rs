//! The scheduler panics, or subscribers become ready while it rests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use super::*;
use crate::settings::HubSettings;

#[tokio::test]
async fn what_a_scheduler_that_panics_has_taken_is_accounted_for() {
    let ready = Arc::<ReadyQueue>::default();
    let subscriber = Subscriber::unreachable(&ready);
    let mut settings = HubSettings::default();
    settings.queue_limits.events = 2;
    settings.queue_limits.patience = Duration::ZERO;
    subscriber.reconfigure(&settings);
    let event = |bytes: &mut Vec<u8>| -> Result<(), floe::DecodeError> {
        bytes.extend(b"\x02op\0\0\x06\0\0\0\x01\x01");
        Ok(())
    };
    let mut events = floe::forwarding::EventsBuilder::default();
    (0..3).for_each(|_| events.push_with(event).unwrap());
    subscriber.publish(events.finish().unwrap(), false, Instant::now());
    subscriber.lock().in_flight().open();
    let mut scheduler = Scheduler::new(&ready);
    assert!(ready.push(&subscriber));
    // The scheduler logs, after it has taken the events, that the queue has room again. This log panics.
    let log = tracing_subscriber::fmt().with_writer(|| -> std::io::Sink { panic!("on purpose") });
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tracing::subscriber::with_default(log.finish(), || {
            let mut context = Context::from_waker(Waker::noop());
            scheduler.poll(&mut context, &mut Buffers::default())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(subscriber.snapshot().outstanding, 2);
    drop(scheduler);
    let snapshot = subscriber.snapshot();
    let lost = snapshot.accounts.lost;
    assert_eq!(
        (lost.overflow, lost.failed, snapshot.outstanding),
        (1, 2, 0)
    );
    assert_eq!(snapshot.accounts.offered, 3);
    assert!(subscriber.is_online());
}

/// Pauses need a timer with a resolution of microseconds.
#[cfg(target_os = "linux")]
mod at_work {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::runtime::Builder;

    use super::*;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Task {
        fn woken(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A subscriber whose delivery task waits and has not left its window to the scheduler. The scheduler wakes the
    /// task when it serves the subscriber.
    fn subscriber(ready: &Arc<ReadyQueue>, delivery: &Arc<Task>) -> Arc<Subscriber> {
        let subscriber = Subscriber::unreachable(ready);
        subscriber.lock().note_delivery(&delivery.clone().into());
        subscriber
    }

    /// A scheduler that rests as soon as a subscriber is ready.
    fn about_to_rest(ready: &ReadyQueue) -> Scheduler<'_> {
        pressed(ready, Duration::from_millis(20), Duration::ZERO)
    }

    /// A scheduler for which events have followed each round immediately so far.
    fn pressed(ready: &ReadyQueue, rest_max: Duration, polling: Duration) -> Scheduler<'_> {
        ready.set_pace(SchedulerPace { rest_max, polling });
        let mut scheduler = Scheduler::new(ready);
        // These rounds end in the future, so that the next events follow them immediately at any speed of the test.
        let later = Instant::now() + Duration::from_secs(3600);
        for _ in 0..4 {
            scheduler.schedule.rest(later, Duration::from_millis(20));
            scheduler.schedule.serve(2, 2, later);
            scheduler
                .schedule
                .note_served(2, || later + Duration::from_secs(1));
        }
        scheduler
    }

    #[tokio::test]
    async fn subscribers_that_are_ready_before_and_in_a_rest_are_served_after_it() {
        let ready = Arc::<ReadyQueue>::default();
        let deliveries: [Arc<Task>; 2] = Default::default();
        let [first, second] = deliveries.each_ref().map(|it| subscriber(&ready, it));
        let woken = || deliveries.each_ref().map(|it| it.woken());
        let mut scheduler = about_to_rest(&ready);
        let mut buffers = Buffers::default();
        assert!(ready.push(&first));
        poll_fn(|context| {
            assert!(scheduler.poll(context, &mut buffers).is_pending());
            Poll::Ready(())
        })
        .await;
        assert!(ready.is_resting());
        assert!(ready.push(&second));
        assert_eq!(woken(), [0, 0]);
        let mut serving = pin!(poll_fn(|context| scheduler.poll(context, &mut buffers)));
        poll_fn(|context| {
            assert!(serving.as_mut().poll(context).is_pending());
            match woken() {
                [1, 1] => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
        assert!(!ready.is_resting());
    }

    #[tokio::test]
    async fn a_scheduler_that_ends_in_a_rest_leaves_all_to_their_deliveries() {
        let ready = Arc::<ReadyQueue>::default();
        let delivery = Arc::<Task>::default();
        let subscriber = subscriber(&ready, &delivery);
        let mut scheduler = about_to_rest(&ready);
        assert!(ready.push(&subscriber));
        poll_fn(|context| {
            let polled = scheduler.poll(context, &mut Buffers::default());
            assert!(polled.is_pending());
            Poll::Ready(())
        })
        .await;
        assert!(ready.is_resting());
        drop(scheduler);
        assert_eq!(delivery.woken(), 1);
        assert!(!ready.is_resting() && !ready.push(&subscriber));
    }

    #[test]
    fn while_events_press_it_looks_for_more_without_being_woken() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        for (polling, comes_back) in [(Duration::ZERO, 0), (Duration::from_secs(3600), 1)] {
            let ready = Arc::<ReadyQueue>::default();
            let [delivery, own]: [Arc<Task>; 2] = Default::default();
            let subscriber = subscriber(&ready, &delivery);
            let mut scheduler = pressed(&ready, Duration::ZERO, polling);
            assert!(ready.push(&subscriber));
            let waker = own.clone().into();
            let context = &mut Context::from_waker(&waker);
            let polled = scheduler.poll(context, &mut Buffers::default());
            assert!(polled.is_pending());
            assert_eq!((delivery.woken(), own.woken()), (1, comes_back));
        }
    }
}
