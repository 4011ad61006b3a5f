//! Tests of the liveness check. `tests/sim/liveness.rs` runs it over random events.

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_secs(10);

/// Checks every ten seconds until an action other than a heartbeat is due. Returns the action and the number of
/// checks and heartbeats before it.
fn run(rules: Liveness, marks: &Marks, check_max: u32) -> (LivenessAction, u32, u32) {
    let mut now = Instant::now();
    let mut check = LivenessCheck::new(rules, now);
    let mut heartbeat_count = 0;
    for count in 1..=check_max {
        now += TICK;
        match check.update(marks, now, TICK) {
            LivenessAction::Nothing => {}
            LivenessAction::Heartbeat => heartbeat_count += 1,
            due => return (due, count, heartbeat_count),
        }
    }
    (LivenessAction::Nothing, check_max, heartbeat_count)
}

#[test]
fn an_idle_peer_may_be_silent_for_ever_by_default_and_gets_heartbeats() {
    let (due, _, heartbeats) = run(Liveness::default(), &Marks::default(), 1000);
    assert_eq!((due, heartbeats), (LivenessAction::Nothing, 1000));
}

#[test]
fn a_peer_that_owes_a_reply_may_be_silent_for_the_idle_timeout() {
    let marks = Marks {
        is_reply_due: true,
        ..Marks::default()
    };
    for rules in [
        Liveness::default(),
        Liveness::ice_37_client(),
        Liveness::ice_38(),
    ] {
        let (due, count, _) = run(rules, &marks, 1000);
        assert_eq!((due, count), (LivenessAction::Drop(60 * SECOND), 6));
    }
    let heartbeats = Marks {
        has_read: true,
        ..marks
    };
    assert_eq!(
        run(Liveness::default(), &heartbeats, 1000).0,
        LivenessAction::Nothing
    );
}

#[test]
fn silence_counts_only_while_a_reply_is_due() {
    let mut now = Instant::now();
    let mut check = LivenessCheck::new(Liveness::default(), now);
    for _ in 0..100 {
        now += TICK;
        check.update(&Marks::default(), now, TICK);
    }
    let due = Marks {
        is_reply_due: true,
        ..Marks::default()
    };
    now += TICK;
    assert_ne!(
        check.update(&due, now, TICK),
        LivenessAction::Drop(60 * SECOND)
    );
}

#[test]
fn a_38_peer_that_sends_nothing_is_dropped_and_one_that_is_held_back_is_not() {
    let rules = Liveness {
        inactivity_timeout: None,
        ..Liveness::ice_38()
    };
    let (due, count, _) = run(rules.clone(), &Marks::default(), 1000);
    assert_eq!((due, count), (LivenessAction::Drop(60 * SECOND), 6));
    let held_back = Marks {
        has_read: true,
        is_handling: true,
        ..Marks::default()
    };
    assert_eq!(run(rules, &held_back, 1000).0, LivenessAction::Nothing);
}

#[test]
fn an_unused_connection_is_closed_despite_heartbeats() {
    let heartbeats = Marks {
        has_read: true,
        ..Marks::default()
    };
    let (due, count, _) = run(Liveness::ice_38(), &heartbeats, 1000);
    assert_eq!((due, count), (LivenessAction::Close(300 * SECOND), 30));
    for outstanding in [
        Marks {
            is_reply_due: true,
            ..heartbeats
        },
        Marks {
            is_dispatching: true,
            ..heartbeats
        },
        Marks {
            has_message: true,
            ..heartbeats
        },
    ] {
        let (due, ..) = run(Liveness::ice_38(), &outstanding, 1000);
        assert_eq!(due, LivenessAction::Nothing, "{outstanding:?}");
    }
}

#[test]
fn a_jump_of_the_clock_drops_no_connection() {
    let start = Instant::now();
    let mut check = LivenessCheck::new(Liveness::ice_38(), start);
    let owing = Marks {
        is_reply_due: true,
        ..Marks::default()
    };
    check.update(&owing, start + TICK, TICK);
    // A day later: the machine was asleep, or the program was stopped.
    let now = start + 86_400 * SECOND;
    assert_eq!(check.update(&owing, now, TICK), LivenessAction::Heartbeat);
    let mut checks = (1..).map(|count| (count, check.update(&owing, now + count * TICK, TICK)));
    let dropped = checks.find(|(_, due)| matches!(due, LivenessAction::Drop(_)));
    assert_eq!(
        dropped,
        Some((6, LivenessAction::Drop(60 * SECOND))),
        "it has its whole time again"
    );
}

#[test]
fn heartbeats_are_sent_in_time_after_any_write() {
    let rules = Liveness::default();
    let tick = rules.tick().unwrap();
    assert_eq!(tick, 10 * SECOND, "half of 20 s");
    let start = Instant::now();
    let mut check = LivenessCheck::new(rules, start);
    let written = Marks {
        has_written: true,
        ..Marks::default()
    };
    assert_eq!(
        check.update(&written, start + tick, tick),
        LivenessAction::Nothing
    );
    // The write came after the start, so fewer than 20 s of silence have passed.
    let next = check.update(&Marks::default(), start + 2 * tick, tick);
    assert_eq!(next, LivenessAction::Heartbeat);
}

#[test]
fn each_heartbeat_mode_sends_at_its_own_times() {
    let dispatching = Marks {
        is_dispatching: true,
        ..Marks::default()
    };
    let busy = Marks {
        has_written: true,
        ..Marks::default()
    };
    let count = |heartbeats, marks: &Marks| {
        let rules = Liveness {
            heartbeats,
            ..Liveness::default()
        };
        run(rules, marks, 10).2
    };
    use Heartbeats::{Always, Off, WhenSilent, WhileDispatching};
    for (mode, idle, dispatch, write) in [
        (Off, 0, 0, 0),
        (WhileDispatching, 0, 10, 0),
        (WhenSilent, 10, 10, 0),
        (Always, 10, 10, 10),
    ] {
        let counts = [&Marks::default(), &dispatching, &busy].map(|m| count(mode, m));
        assert_eq!(counts, [idle, dispatch, write], "{mode:?}");
    }
}

#[test]
fn heartbeats_are_held_back_until_ice_sends_its_own() {
    let mut now = Instant::now();
    let mut check = LivenessCheck::new(Liveness::default(), now);
    let waiting = Marks {
        is_reply_due: true,
        ..Marks::default()
    };
    let mut outstanding = Vec::new();
    for _ in 0..5 {
        now += TICK;
        outstanding.push(check.update(&waiting, now, TICK));
    }
    let quiet = [const { LivenessAction::Nothing }; 4];
    assert_eq!(outstanding[..4], quiet, "40 s");
    assert_eq!(
        outstanding[4],
        LivenessAction::Heartbeat,
        "before 60 s, after which Ice 3.8 drops"
    );
    let heard = Marks {
        has_read: true,
        ..waiting
    };
    now += 2 * TICK;
    assert_eq!(check.update(&heard, now, TICK), LivenessAction::Heartbeat);
}
