//! Random live traffic beside readers that are far behind, in virtual time.

use proptest::prelude::*;

use super::*;

const PROCESSORS: usize = 2;

/// A reader and its log.
#[derive(Default)]
struct Reader {
    chase: Chase,
    /// How many events it has read, and how many have come into its log.
    read: u64,
    came: u64,
    /// When its turn ends; `None` if it has none.
    busy_until: Option<Instant>,
    /// When it asks again.
    asks_at: Option<Instant>,
}

/// The totals of a run.
#[derive(Debug, Default)]
struct Account {
    /// The cost of all turns.
    cost: Duration,
    turns: u64,
    free_turns: u64,
    longest_wait: Duration,
}

/// A hub for a while, with a live event every `gap`, of which every `own`th comes into each log; turns cost what a sequence of
/// random numbers says.
struct Run {
    throttle: Throttle,
    readers: Vec<Reader>,
    live_count: u64,
    now: Instant,
    costs: Vec<u64>,
    account: Account,
}

impl Run {
    fn new(readers: usize, costs: &[u64]) -> Self {
        Self {
            throttle: Throttle::new(PROCESSORS),
            readers: std::iter::repeat_with(Reader::default)
                .take(readers)
                .collect(),
            live_count: 0,
            now: Instant::now(),
            costs: costs.to_vec(),
            account: Account::default(),
        }
    }

    /// Time passes in steps of 100 µs. `live` returns the number of live events of a step, and `own` how many of them
    /// each log gets.
    fn pass(&mut self, steps: u64, live: impl Fn(u64) -> u64, own: impl Fn(u64) -> u64) {
        for step in 0..steps {
            self.now += Duration::from_micros(100);
            self.live_count += live(step);
            for at in 0..self.readers.len() {
                self.readers[at].came += own(step);
                self.step(at);
            }
        }
    }

    fn step(&mut self, at: usize) {
        let (now, account) = (self.now, &mut self.account);
        let reader = &mut self.readers[at];
        let is_waiting = |until: Option<Instant>| until.is_some_and(|until| until > now);
        if is_waiting(reader.busy_until) || is_waiting(reader.asks_at) {
            return;
        }
        reader.chase.handle_end(reader.came);
        let events = match self.throttle.poll(&mut reader.chase, self.live_count, now) {
            Turn::At(at) => {
                assert!(
                    at > now,
                    "a reader that waits is not asked again immediately"
                );
                account.longest_wait = account.longest_wait.max(at - now);
                reader.asks_at = Some(at);
                return;
            }
            Turn::Short => Chase::TURN_EVENTS as u64,
            Turn::Free => {
                account.free_turns += 1;
                1000
            }
        };
        let cost = self.costs[account.turns as usize % self.costs.len()];
        let cost = Duration::from_micros(cost);
        account.turns += 1;
        account.cost += cost;
        reader.chase.handle_busy(cost);
        reader.read += events;
        reader.busy_until = Some(now + cost);
    }
}

fn costs() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(50..2_000_u64, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn beside_live_traffic_all_readers_together_take_their_share(
        readers in 1..8_usize,
        costs in costs(),
        gap in 1..5_000_u64,
    ) {
        let mut run = Run::new(readers, &costs);
        let live = |step| u64::from(step % gap == 0);
        // The first look tells it how many there were, and the second that more have come.
        run.pass(2 * gap + 2, live, |_| 0);
        run.account = Account::default();
        let steps = 20_000;
        run.pass(steps, live, |_| 0);
        let time = Duration::from_micros(100 * steps);
        let share = time * PROCESSORS as u32 / Throttle::PARTS;
        // Turns that begin before the costs of others are known.
        let slack = Duration::from_micros(2_000) * readers as u32 + share / 4;
        prop_assert!(run.account.cost <= share + slack, "{:?} of {share:?}", run.account);
        prop_assert!(run.account.cost * 4 >= share, "{:?} of {share:?}", run.account);
        prop_assert_eq!(run.account.free_turns, 0);
        prop_assert!(run.account.longest_wait <= Throttle::WAIT_MAX);
    }

    #[test]
    fn without_live_traffic_no_reader_waits(readers in 1..8_usize, costs in costs()) {
        let mut run = Run::new(readers, &costs);
        run.live_count = 7;
        run.pass(2_000, |_| 0, |_| 0);
        prop_assert_eq!(run.account.longest_wait, Duration::ZERO);
        prop_assert_eq!(run.account.free_turns, run.account.turns);
    }

    #[test]
    fn each_reader_comes_nearer_to_the_end_of_a_log_that_grows(
        readers in 1..8_usize,
        costs in costs(),
        each in 1..20_u64,
    ) {
        // Up to 200,000 events a second, far more than the share pays for.
        let mut run = Run::new(readers, &costs);
        run.pass(20_000, |_| each, |_| each);
        // No throttle makes a reader faster than it is.
        let slowest = run.costs.iter().max().copied().unwrap_or(1);
        let possible = 128 * 2_000_000 / (slowest + 200);
        for reader in &run.readers {
            let expected = (reader.came * 5 / 4).min(possible * 4 / 5);
            prop_assert!(reader.read >= expected, "{} of {}", reader.read, reader.came);
        }
    }
}

#[test]
fn readers_are_free_again_when_live_traffic_has_ended() {
    let mut run = Run::new(2, &[300]);
    run.pass(10_000, |_| 1, |_| 0);
    assert_eq!(
        run.account.free_turns, 2,
        "only the first look knows of none"
    );
    let read = run.readers[0].read;
    run.pass(10_100, |_| 0, |_| 0);
    let throttled = run.readers[0].read - read;
    run.pass(10_000, |_| 0, |_| 0);
    assert!(run.readers[0].read - read > 10 * throttled);
}

#[test]
fn a_reader_that_reaches_the_end_of_its_log_is_not_far_behind() {
    let mut chase = Chase::default();
    for _ in 0..Chase::FULL_READS_MIN {
        assert!(!chase.is_far_behind());
        chase.handle_read(true, Duration::ZERO);
    }
    assert!(chase.is_far_behind());
    chase.handle_read(false, Duration::ZERO);
    assert!(!chase.is_far_behind());
}

#[test]
fn a_reader_reads_ahead_when_it_is_far_behind_and_not_in_a_short_turn() {
    let (mut throttle, mut chase, now) =
        (Throttle::new(PROCESSORS), Chase::default(), Instant::now());
    for _ in 0..Chase::FULL_READS_MIN {
        assert!(!chase.may_read_ahead());
        chase.handle_read(true, Duration::ZERO);
    }
    assert_eq!(throttle.poll(&mut chase, 0, now), Turn::Free);
    assert!(chase.may_read_ahead());
    assert_eq!(throttle.poll(&mut chase, 1, now), Turn::Short);
    assert!(!chase.may_read_ahead(), "the turn is not paid for");
    let later = now + Throttle::LIVE_GAP * 2;
    assert_eq!(throttle.poll(&mut chase, 1, later), Turn::Free);
    assert!(chase.may_read_ahead());
    chase.handle_read(false, Duration::ZERO);
    assert!(!chase.may_read_ahead(), "it has arrived");
}
