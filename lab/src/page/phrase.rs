//! The names of cases in a few words.

/// Describes a case for who does not know its name; empty if the name says it.
pub(super) fn phrase(scenario: &str, case: &str) -> String {
    let mut said = Vec::new();
    let mut rest = case;
    for (end, meaning) in ENDS {
        if let Some(shorter) = rest.strip_suffix(end) {
            rest = shorter;
            said.insert(0, (*meaning).to_owned());
        }
    }
    let numbers: Vec<&str> = rest.split('-').filter(|word| is_number(word)).collect();
    let begin = BEGINS
        .iter()
        .find(|(of, begin, _)| (of.is_empty() || *of == scenario) && rest.starts_with(begin));
    if let Some((_, _, meaning)) = begin {
        let meaning = numbers.iter().fold((*meaning).to_owned(), |text, number| {
            text.replacen('#', number, 1)
        });
        said.insert(0, meaning);
    }
    said.join(", ")
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|char| char.is_ascii_digit())
}

/// The meaning of the end of a name, the last one first.
const ENDS: &[(&str, &str)] = &[
    ("-poll", "both sides look for bytes without sleeping"),
    ("-unix", "over a Unix socket"),
    ("/encode", "value to bytes"),
    ("/decode", "bytes to value"),
    ("/56k", "56 kbit/s"),
    ("/1m", "1 Mbit/s, 100 ms away, 1 % lost"),
    ("-latency", "one event under way"),
    ("-throughput", "100 events at a time"),
    ("-x100000", "mean of 100,000"),
];

/// The meaning of the beginning of a name, in a scenario or in all. `#` is the next number of the name. Longer ones stand first.
const BEGINS: &[(&str, &str, &str)] = &[
    (
        "gateway",
        "sessions",
        "# sessions of a connection each, with a call",
    ),
    ("gateway", "ami", "# calls in flight through the router"),
    (
        "gateway",
        "twoway",
        "one call after the other through the router",
    ),
    (
        "gateway",
        "oneway",
        "calls without a reply through the router",
    ),
    ("qos", "oneway", "events without answers"),
    ("qos", "twoway", "events with answers"),
    ("qos", "ordered", "one event after the other"),
    ("qos", "keep-last", "only the newest event is kept"),
    ("qos", "priority", "more important events first"),
    ("qos", "batched", "many events in one message"),
    ("qos", "compressed", "events are compressed"),
    (
        "events",
        "latency",
        "# publisher, # subscribers, one event at a time",
    ),
    (
        "events",
        "load",
        "# publisher, # subscribers, time of an event under load",
    ),
    (
        "events",
        "twoway",
        "# publishers, # subscribers, events a second with answers",
    ),
    (
        "events",
        "batched100",
        "# publishers, # subscribers, events a second in batches, 100 bytes each",
    ),
    (
        "events",
        "batched",
        "# publishers, # subscribers, events a second in batches",
    ),
    (
        "scale",
        "fan",
        "# publishers, # subscribers, one event of each",
    ),
    (
        "durable",
        "inflight",
        "# events unanswered at a time, each on disk before its answer",
    ),
    (
        "durable",
        "batch",
        "# events together, each on disk before its answer",
    ),
    ("durable", "replay", "# stored events to a late subscriber"),
    (
        "pubsub-rtt",
        "bytes",
        "# bytes through a topic, the answer through another",
    ),
    (
        "pubsub-rtt",
        "nested",
        "# nested records through a topic, the answer through another",
    ),
    (
        "rtt",
        "rtt",
        "# doubles there and back, four times a second",
    ),
    ("codec", "bytes", "# bytes"),
    ("codec", "doubles", "# doubles"),
    ("codec", "nested", "records of records"),
    ("codec", "text", "a text"),
    ("codec", "bibliography", "records of many short texts"),
    ("slow", "text-again", "a text that was sent before"),
    ("slow", "text", "a text"),
    (
        "slow",
        "bibliography-again",
        "a bibliography that was sent before",
    ),
    (
        "slow",
        "bibliography-edited",
        "a bibliography with one entry changed",
    ),
    ("slow", "bibliography", "a bibliography"),
    ("slow", "ticks", "1,000 small events behind a router"),
    (
        "",
        "twoway-blocking",
        "one call after the other, in a thread without async",
    ),
    ("", "twoway", "one call after the other"),
    ("", "ami-1000", "1,000 calls in flight"),
    ("", "ami", "asynchronous calls, one after the other"),
    ("", "oneway", "calls without a reply"),
    ("", "batch", "calls without a reply, many in one message"),
    ("", "echo", "# bytes there and back"),
    ("", "ack-bytes", "# bytes there, a short answer back"),
    (
        "",
        "ack-nested",
        "# nested records there, a short answer back",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::scenarios;

    #[test]
    fn names_are_told_in_words() {
        for (scenario, case, expected) in [
            ("rpc", "twoway", "one call after the other"),
            (
                "rpc",
                "echo-1000-unix",
                "1000 bytes there and back, over a Unix socket",
            ),
            (
                "rpc",
                "ami-1000-unix-poll",
                "1,000 calls in flight, over a Unix socket, both sides look for bytes without sleeping",
            ),
            (
                "events",
                "latency-1-10",
                "1 publisher, 10 subscribers, one event at a time",
            ),
            (
                "codec",
                "doubles-1000/decode",
                "1000 doubles, bytes to value",
            ),
            (
                "qos",
                "keep-last-latency",
                "only the newest event is kept, one event under way",
            ),
        ] {
            assert_eq!(phrase(scenario, case), expected);
        }
    }

    #[test]
    fn each_case_of_each_scenario_has_a_phrase() {
        for scenario in scenarios() {
            for case in scenario.cases {
                assert_ne!(
                    phrase(scenario.name, case.name),
                    "",
                    "{} {}",
                    scenario.name,
                    case.name
                );
            }
        }
    }
}
