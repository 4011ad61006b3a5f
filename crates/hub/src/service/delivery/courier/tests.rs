//! Where the courier works, and that nobody is forgotten while it rests.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Builder;

use super::*;

#[test]
fn deliveries_of_another_runtime_have_no_courier() {
    let courier = Courier::default();
    let [home, other] = [(); 2].map(|()| Builder::new_current_thread().build().unwrap());
    courier.settle_in(home.handle().id());
    assert!(home.block_on(async { courier.is_of_this_runtime() }));
    assert!(!other.block_on(async { courier.is_of_this_runtime() }));
    assert!(!courier.is_of_this_runtime());
    assert!(!home.block_on(async { Courier::default().is_of_this_runtime() }));
}

#[tokio::test]
async fn what_a_courier_that_panics_has_taken_is_accounted_for() {
    let courier = Arc::<Courier>::default();
    let subscriber = Subscriber::to_nobody(&courier);
    let mut settings = HubSettings::default();
    settings.queue_limits.events = 2;
    subscriber.reconfigure(&settings);
    let event = |bytes: &mut Vec<u8>| -> Result<(), floe::DecodeError> {
        bytes.extend(b"\x02op\0\0\x06\0\0\0\x01\x01");
        Ok(())
    };
    let mut events = floe::EventsBuilder::default();
    (0..3).for_each(|_| events.push_with(event).unwrap());
    subscriber.publish(events.finish().unwrap(), Instant::now());
    subscriber.lock().answers().open();
    courier.lock().is_at_work = true;
    assert!(courier.call(&subscriber));
    let mut work = Work {
        courier: &courier,
        served: VecDeque::new(),
        rounds: Rounds::default(),
        pause: Pause::new(),
        vigil: Vigil::default(),
    };
    // It says that there is room again when it has taken them.
    let log = tracing_subscriber::fmt().with_writer(|| -> std::io::Sink { panic!("on purpose") });
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tracing::subscriber::with_default(log.finish(), || {
            let mut context = Context::from_waker(Waker::noop());
            work.poll_calls(&mut context, &mut Bag::default())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(subscriber.snapshot().outstanding, 2);
    drop(work);
    let snapshot = subscriber.snapshot();
    let lost = snapshot.accounts.lost;
    assert_eq!(
        (lost.overflow, lost.failed, snapshot.outstanding),
        (1, 2, 0)
    );
    assert_eq!(snapshot.accounts.offered, 3);
    assert!(subscriber.is_online());
}

/// Rests need a timer of microseconds.
#[cfg(target_os = "linux")]
mod at_work {
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    /// A task that is woken so many times.
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

    /// A subscriber whose delivery task waits, and is not open to the courier: that wakes it in its turn.
    fn subscriber(courier: &Arc<Courier>, delivery: &Arc<Task>) -> Arc<Subscriber> {
        let subscriber = Subscriber::to_nobody(courier);
        subscriber.lock().note_delivery(&delivery.clone().into());
        subscriber
    }

    /// A courier that begins to rest as soon as somebody calls.
    fn about_to_rest(courier: &Arc<Courier>) -> Work<'_> {
        pressed(courier, Duration::from_millis(20), Duration::ZERO)
    }

    /// A courier for which events have come at once after each round so far.
    fn pressed(courier: &Arc<Courier>, rest_max: Duration, polling: Duration) -> Work<'_> {
        courier.lock().is_at_work = true;
        courier.set_pace(Pace { rest_max, polling });
        let mut rounds = Rounds::default();
        // Rounds that are over by then, whenever that is.
        let later = Instant::now() + Duration::from_secs(3600);
        for _ in 0..4 {
            rounds.rest(later, Duration::from_millis(20));
            rounds.serve(2, 2, later);
            rounds.note_served(2, || later + Duration::from_secs(1));
        }
        Work {
            courier,
            served: VecDeque::new(),
            rounds,
            pause: Pause::new(),
            vigil: Vigil::default(),
        }
    }

    #[tokio::test]
    async fn who_calls_before_and_in_a_rest_is_served_after_it() {
        let courier = Arc::<Courier>::default();
        let deliveries: [Arc<Task>; 2] = Default::default();
        let [first, second] = deliveries.each_ref().map(|it| subscriber(&courier, it));
        let woken = || deliveries.each_ref().map(|it| it.woken());
        let mut work = about_to_rest(&courier);
        let mut bag = Bag::default();
        assert!(courier.call(&first));
        poll_fn(|context| {
            assert!(work.poll_calls(context, &mut bag).is_pending());
            Poll::Ready(())
        })
        .await;
        assert!(courier.is_resting());
        assert!(courier.call(&second));
        assert_eq!(woken(), [0, 0]);
        let mut working = pin!(poll_fn(|context| work.poll_calls(context, &mut bag)));
        poll_fn(|context| {
            assert!(working.as_mut().poll(context).is_pending());
            match woken() {
                [1, 1] => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
        assert!(!courier.is_resting());
    }

    #[tokio::test]
    async fn a_courier_that_ends_in_a_rest_leaves_all_to_their_deliveries() {
        let courier = Arc::<Courier>::default();
        let delivery = Arc::<Task>::default();
        let caller = subscriber(&courier, &delivery);
        let mut work = about_to_rest(&courier);
        assert!(courier.call(&caller));
        poll_fn(|context| {
            assert!(work.poll_calls(context, &mut Bag::default()).is_pending());
            Poll::Ready(())
        })
        .await;
        assert!(courier.is_resting());
        drop(work);
        assert_eq!(delivery.woken(), 1);
        assert!(!courier.is_resting() && !courier.call(&caller));
    }

    #[test]
    fn while_events_press_it_looks_for_more_without_being_woken() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        for (polling, comes_back) in [(Duration::ZERO, 0), (Duration::from_secs(3600), 1)] {
            let courier = Arc::<Courier>::default();
            let [delivery, own]: [Arc<Task>; 2] = Default::default();
            let caller = subscriber(&courier, &delivery);
            let mut work = pressed(&courier, Duration::ZERO, polling);
            assert!(courier.call(&caller));
            let waker = own.clone().into();
            let polled = work.poll_calls(&mut Context::from_waker(&waker), &mut Bag::default());
            assert!(polled.is_pending());
            assert_eq!((delivery.woken(), own.woken()), (1, comes_back));
        }
    }
}
