//! The committed fuzz corpora, replayed: what once was interesting to the fuzzer still ends well.
//!
//! `cargo xtask fuzz-smoke` looks for new inputs with the same functions.

#[path = "../fuzz/src/access_rules.rs"]
mod access_rules;
#[path = "../fuzz/src/access_token.rs"]
mod access_token;
#[path = "../fuzz/src/access_trust.rs"]
mod access_trust;
#[path = "../fuzz/src/access_users.rs"]
mod access_users;
#[path = "../fuzz/src/amqp.rs"]
mod amqp;
#[path = "../fuzz/src/compression.rs"]
mod compression;
#[path = "../fuzz/src/giop.rs"]
mod giop;
#[path = "../fuzz/src/json_value.rs"]
mod json_value;
#[path = "../fuzz/src/log_segment.rs"]
mod log_segment;
#[path = "../fuzz/src/message.rs"]
mod message;
#[path = "../fuzz/src/proxy_text.rs"]
mod proxy_text;
#[path = "../fuzz/src/recording.rs"]
mod recording;
#[path = "../fuzz/src/rtps.rs"]
mod rtps;
#[path = "../fuzz/src/slice_source.rs"]
mod slice_source;
#[path = "../fuzz/src/store_record.rs"]
mod store_record;
#[path = "../fuzz/src/value.rs"]
mod value;
#[path = "../fuzz/src/view.rs"]
mod view;
#[path = "../fuzz/src/websocket.rs"]
mod websocket;

use std::panic::catch_unwind;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use floe_tests::mutation::Mutator;
use floe_tests::workspace;

#[test]
fn every_message_of_the_corpus_ends_well() {
    replay("message", message::run);
}

#[test]
fn every_amqp_session_of_the_corpus_ends_well_whole_and_cut() {
    replay("amqp", amqp::run);
    for (_, input) in corpus("amqp") {
        // Each cut is a whole session, so not each place is tried.
        (0..input.len())
            .step_by(7)
            .for_each(|len| amqp::run(&input[..len]));
    }
}

#[test]
fn every_slice_source_of_the_corpus_ends_well() {
    replay("slice_source", slice_source::run);
}

#[test]
fn every_value_of_the_corpus_ends_well() {
    replay("value", value::run);
}

#[test]
fn every_websocket_of_the_corpus_ends_well() {
    replay("websocket", websocket::run);
}

#[test]
fn every_proxy_text_of_the_corpus_ends_well_whole_and_cut() {
    replay("proxy_text", proxy_text::run);
    for (_, input) in corpus("proxy_text") {
        (0..input.len()).for_each(|len| proxy_text::run(&input[..len]));
    }
}

#[test]
fn every_json_value_of_the_corpus_ends_well_whole_and_cut() {
    replay("json_value", json_value::run);
    for (_, input) in corpus("json_value") {
        (0..input.len()).for_each(|len| json_value::run(&input[..len]));
    }
}

#[test]
fn every_compressed_message_of_the_corpus_ends_well_whole_cut_and_bit_flipped() {
    replay("compression", compression::run);
    for (_, input) in corpus("compression") {
        (0..input.len()).for_each(|len| compression::run(&input[..len]));
        for bit in 0..input.len() * 8 {
            let mut flipped = input.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            compression::run(&flipped);
        }
    }
}

#[test]
fn every_log_segment_of_the_corpus_ends_well_whole_and_cut() {
    replay("log_segment", log_segment::run);
    for (_, input) in corpus("log_segment") {
        (0..input.len()).for_each(|len| log_segment::run(&input[..len]));
    }
}

#[test]
fn every_recording_of_the_corpus_ends_well_whole_and_cut() {
    replay("recording", recording::run);
    for (_, input) in corpus("recording") {
        (0..input.len()).for_each(|len| recording::run(&input[..len]));
    }
}

#[test]
fn every_set_of_access_rules_of_the_corpus_ends_well_whole_and_cut() {
    replay("access_rules", access_rules::run);
    for (_, input) in corpus("access_rules") {
        (0..input.len()).for_each(|len| access_rules::run(&input[..len]));
    }
}

#[test]
fn every_conversation_of_rtps_of_the_corpus_ends_well_whole_and_with_random_damages() {
    replay("rtps", rtps::run);
    run_damaged("rtps", 2000, |_, input| rtps::run(input));
}

#[test]
fn every_token_of_the_corpus_ends_well_whole_and_cut() {
    replay("access_token", access_token::run);
    for (_, input) in corpus("access_token") {
        (0..input.len()).for_each(|len| access_token::run(&input[..len]));
    }
}

#[test]
fn every_trust_text_of_the_corpus_ends_well_whole_and_cut() {
    replay("access_trust", access_trust::run);
    for (_, input) in corpus("access_trust") {
        (0..input.len()).for_each(|len| access_trust::run(&input[..len]));
    }
}

#[test]
fn every_users_file_of_the_corpus_ends_well_whole_and_cut() {
    replay("access_users", access_users::run);
    for (_, input) in corpus("access_users") {
        (0..input.len()).for_each(|len| access_users::run(&input[..len]));
    }
}

#[test]
fn every_record_of_a_store_of_the_corpus_ends_well_whole_cut_and_bit_flipped() {
    replay("store_record", store_record::run);
    cut_and_flip("store_record", store_record::run);
}

#[test]
fn every_piece_of_giop_of_the_corpus_ends_well_whole_cut_and_bit_flipped() {
    replay("giop", giop::run);
    for (_, input) in corpus("giop") {
        (0..input.len()).for_each(|len| giop::run(&input[..len]));
        // Those that are longer hold several of what the others hold.
        let bits = if input.len() < 256 {
            input.len() * 8
        } else {
            0
        };
        for bit in 0..bits {
            let mut flipped = input.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            giop::run(&flipped);
        }
    }
}

#[test]
fn every_view_of_the_corpus_ends_well_whole_cut_and_bit_flipped() {
    replay("view", view::run);
    cut_and_flip("view", view::run);
    for (_, input) in corpus("value") {
        view::run(&input);
    }
}

/// Runs each input cut at each place, and with each bit flipped.
fn cut_and_flip(target: &str, run: fn(&[u8])) {
    for (_, input) in corpus(target) {
        (0..input.len()).for_each(|len| run(&input[..len]));
        for bit in 0..input.len() * 8 {
            let mut flipped = input.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            run(&flipped);
        }
    }
}

#[test]
fn a_truncated_or_bit_flipped_websocket_ends_well() {
    for (_, input) in corpus("websocket") {
        (0..input.len()).for_each(|len| websocket::run(&input[..len]));
        for bit in 0..input.len() * 8 {
            let mut flipped = input.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            websocket::run(&flipped);
        }
    }
}

#[test]
fn a_truncated_or_damaged_value_ends_well() {
    for (_, input) in corpus("value") {
        (0..input.len()).for_each(|len| value::run(&input[..len]));
        for place in 0..input.len() {
            let mut damaged = input.clone();
            damaged[place] = damaged[place].wrapping_add(1);
            value::run(&damaged);
        }
    }
}

#[test]
fn a_truncated_or_bit_flipped_message_ends_well() {
    for (_, input) in corpus("message") {
        (0..input.len()).for_each(|len| message::run(&input[..len]));
        for bit in 0..input.len() * 8 {
            let mut flipped = input.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            message::run(&flipped);
        }
    }
}

#[test]
fn a_truncated_slice_source_ends_well() {
    for (_, input) in corpus("slice_source")
        .into_iter()
        .filter(|(_, input)| input.len() < 1000)
    {
        (0..input.len()).for_each(|len| slice_source::run(&input[..len]));
    }
}

#[test]
fn giop_with_random_damages_ends_well() {
    run_damaged("giop", 20_000, |_, input| giop::run(input));
}

/// `cargo xtask soak inputs` does so with more of them.
#[test]
fn messages_values_and_sessions_with_random_damages_end_well() {
    let count = match env::var("FLOE_DAMAGED_INPUTS") {
        Ok(text) => match text.parse() {
            Ok(count) if count > 0 => count,
            _ => panic!("FLOE_DAMAGED_INPUTS: expected a whole number from 1, got {text:?}"),
        },
        Err(_) => 20_000,
    };
    run_damaged("message", count, |_, input| message::run(input));
    run_damaged("value", count, |number, input| {
        value::run_as(number % value::SHAPES, input);
    });
    // Each is a whole session, twice.
    run_damaged("amqp", count.div_ceil(10), |_, input| amqp::run(input));
}

/// Runs so many inputs that are made from the corpus by random damages. `run` also gets a number that is random.
fn run_damaged(target: &str, count: u64, run: fn(usize, &[u8])) {
    let originals: Vec<_> = corpus(target).into_iter().map(|(_, input)| input).collect();
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let begun = Instant::now();
    thread::scope(|scope| {
        for seed in 0..threads {
            let originals = &originals;
            scope.spawn(move || {
                let mut mutator = Mutator::new(originals, seed);
                for _ in 0..count.div_ceil(threads) {
                    let number = mutator.below(usize::from(u16::MAX));
                    let input = mutator.next_input();
                    let ended = catch_unwind(|| run(number, input));
                    assert!(ended.is_ok(), "{target} panics with {number}, {input:?}");
                }
            });
        }
    });
    println!("{target}: {count} inputs in {:?}", begun.elapsed());
}

/// Runs each input, within a time that shows a hang.
fn replay(target: &str, run: fn(&[u8])) {
    let inputs = corpus(target);
    assert!(
        !inputs.is_empty(),
        "expected inputs in fuzz/corpus/{target}"
    );
    for (name, input) in inputs {
        let (done, wait) = mpsc::channel();
        let worker = thread::spawn(move || {
            run(&input);
            // Nobody waits any more if the time was over.
            let _ = done.send(());
        });
        let ended = wait.recv_timeout(INPUT_TIME_MAX);
        assert!(
            ended != Err(mpsc::RecvTimeoutError::Timeout),
            "{target}/{name} does not end"
        );
        assert!(worker.join().is_ok(), "{target}/{name} panics");
    }
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = workspace::root().join("fuzz/corpus").join(target);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a corpus can be listed").path());
    let read = |path: std::path::PathBuf| {
        let input = fs::read(&path).expect("a corpus can be read");
        (
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            input,
        )
    };
    paths.map(read).collect()
}

/// Inputs take microseconds; a slow machine gets a thousand times more.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);
