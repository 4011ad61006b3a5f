//! Figures that others have published, and which figure of the lab stands for each of them today.

use std::sync::LazyLock;

use serde_json::Value;

/// A published figure, as `lab/data/seed-results.json` has it; `lab/data/README.md` describes its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) table: String,
    pub(crate) row: String,
    pub(crate) column: String,
    /// In the words of its source, with its unit.
    pub(crate) published: String,
}

/// The kind of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A cell of a table of results.
    Table,
    /// A figure stated in prose.
    Claim,
    /// A parameter of a test.
    Setting,
}

/// The counterpart of a published figure in the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counterpart {
    /// A figure of a contender.
    Figure {
        scenario: &'static str,
        case: String,
        contender: &'static str,
        quantity: Quantity,
    },
    /// How two contenders compare.
    Ratio {
        scenario: &'static str,
        case: String,
        of: &'static str,
        to: &'static str,
    },
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// Which figure of a result it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// The mean of all calls, or of all subscribers.
    Mean,
    /// Bytes in messages.
    Length,
}

/// All published figures, in the order of the file.
pub(crate) fn records() -> &'static [Record] {
    static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(|| {
        let json: Value = serde_json::from_str(RESULTS).expect("the file is JSON");
        let records = json.as_array().expect("the file is a list");
        records.iter().map(Record::from_json).collect()
    });
    &RECORDS
}

const RESULTS: &str = include_str!("../../data/seed-results.json");

impl Record {
    fn from_json(json: &Value) -> Self {
        let text = |name: &str| json[name].as_str().expect("a member of a record is a text");
        Self {
            kind: match text("kind") {
                "table" => Kind::Table,
                "claim" => Kind::Claim,
                "setting" => Kind::Setting,
                other => panic!("expected a kind of record, got {other}"),
            },
            table: text("table").to_owned(),
            row: text("row").to_owned(),
            column: text("column").to_owned(),
            published: text("published").to_owned(),
        }
    }

    /// Returns its counterpart in the lab of today.
    pub(crate) fn counterpart(&self) -> Counterpart {
        if self.kind == Kind::Setting {
            return Counterpart::Nothing(
                "a setting of the published test, no result; the guide to the lab has those of the lab",
            );
        }
        match self.table.as_str() {
            EVENT_LATENCY => self.of_event_latency(),
            EVENTS_TWOWAY => self.of_event_throughput("twoway"),
            EVENTS_BATCHED => self.of_event_throughput("batched100"),
            "Twoway Latency" => self.of_calls("twoway-x100000"),
            "Twoway Latency with AMI" => self.of_calls("ami-x100000"),
            "Oneway Latency" => self.of_calls("oneway-x100000"),
            "Batched Oneway Latency" => self.of_calls("batch-x100000"),
            "Text over Slow Connections" => self.of_documents("text/56k", "ice"),
            "Text over Slow Connections with Ice Compression" => {
                self.of_documents("text/56k", "ice-bzip2")
            }
            "Structured Data over Slow Connections" => self.of_documents("bibliography/56k", "ice"),
            "Structured Data over Slow Connections with Ice Compression" => {
                self.of_documents("bibliography/56k", "ice-bzip2")
            }
            _ => Counterpart::Nothing(
                "a statement about products without names, from plots that are not in the text: nothing to repeat",
            ),
        }
    }

    fn of_event_latency(&self) -> Counterpart {
        let case = format!("latency-{}", self.shape());
        match (self.kind, self.column.as_str()) {
            (Kind::Claim, _) => Counterpart::Nothing(RANGE),
            (_, "Difference") => events_ratio(case),
            (_, column) if column.ends_with("Time per Event") => self.events_mean(case),
            _ => Counterpart::Nothing(
                "the number of subscribers divided by the time per event, which is in the row above; the lab \
                 publishes an event every 2 ms in this case",
            ),
        }
    }

    fn of_event_throughput(&self, work: &str) -> Counterpart {
        let case = format!("{work}-{}", self.shape());
        match (self.kind, self.column.as_str()) {
            (Kind::Claim, _) => Counterpart::Nothing(RANGE),
            (_, "Difference") => events_ratio(case),
            (_, column) if column.ends_with("Events per Second") => self.events_mean(case),
            _ => Counterpart::Nothing(
                "the number of subscribers divided by the events per second, which are in a row of their own",
            ),
        }
    }

    /// Publishers and subscribers: `1 - 10` is `1-10`.
    fn shape(&self) -> String {
        self.row.replace(" - ", "-")
    }

    fn events_mean(&self, case: String) -> Counterpart {
        let is_ice = self.column.starts_with("IceStorm");
        Counterpart::Figure {
            scenario: "events",
            case,
            contender: if is_ice { "icestorm" } else { "omnievents" },
            quantity: Quantity::Mean,
        }
    }

    fn of_calls(&self, case: &str) -> Counterpart {
        if self.row != "Linux" {
            return Counterpart::Nothing("the lab runs on Linux only");
        }
        let contender = match self.column.as_str() {
            "Ice" => "ice",
            "TAO" => "omniorb",
            _ => {
                return Counterpart::Ratio {
                    scenario: CALLS,
                    case: case.to_owned(),
                    of: "omniorb",
                    to: "ice",
                };
            }
        };
        Counterpart::Figure {
            scenario: CALLS,
            case: case.to_owned(),
            contender,
            quantity: Quantity::Mean,
        }
    }

    fn of_documents(&self, case: &str, ice: &'static str) -> Counterpart {
        let (is_size, column) = (self.row == "Message Size", self.column.as_str());
        let contender = match column {
            "Ice" => ice,
            "TAO" => "omniorb",
            _ if is_size => {
                return Counterpart::Nothing(
                    "follows from the two sizes, which are rows of their own",
                );
            }
            _ => {
                return Counterpart::Ratio {
                    scenario: "slow",
                    case: case.to_owned(),
                    of: "omniorb",
                    to: ice,
                };
            }
        };
        Counterpart::Figure {
            scenario: "slow",
            case: case.to_owned(),
            contender,
            quantity: if is_size {
                Quantity::Length
            } else {
                Quantity::Mean
            },
        }
    }
}

fn events_ratio(case: String) -> Counterpart {
    Counterpart::Ratio {
        scenario: "events",
        case,
        of: "omnievents",
        to: "icestorm",
    }
}

const EVENT_LATENCY: &str = "Event Service Latency, Unbuffered Twoway";
const EVENTS_TWOWAY: &str = "Event Service Throughput, Unbuffered Twoway";
const EVENTS_BATCHED: &str = "Event Service Throughput, Batched Oneways / Buffered Twoway";

/// The scenario that repeats the published tests of calls.
const CALLS: &str = "latency";

const RANGE: &str = "an end of the range of the rows of this table, which are compared one by one";
/// Notes to read before a published figure is compared with today's.
pub(crate) const NOTES: &[&str] = &[
    "The published figures are of machines and versions of their time: compare the ratios, not the times.",
    "TAO is in no package of Debian: omniORB and omniEvents stand for CORBA today.",
    "Events per second were published for all subscribers together; the lab has them for each subscriber.",
    "The published bibliography is not public; that of the lab has works of the same kind.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ScenarioInfo;

    #[test]
    fn all_published_figures_are_there() {
        let of = |kind| records().iter().filter(move |record| record.kind == kind);
        assert_eq!(records().len(), 188);
        assert_eq!(of(Kind::Table).count(), 113);
        assert_eq!(of(Kind::Claim).count(), 19);
        assert_eq!(of(Kind::Setting).count(), 56);
    }

    #[test]
    fn what_stands_for_a_published_figure_exists_in_the_lab() {
        let mut figures = 0;
        for record in records() {
            let (scenario, case, contenders) = match record.counterpart() {
                Counterpart::Nothing(reason) => {
                    assert!(!reason.is_empty());
                    continue;
                }
                Counterpart::Figure {
                    scenario,
                    case,
                    contender,
                    ..
                } => (scenario, case, vec![contender]),
                Counterpart::Ratio {
                    scenario,
                    case,
                    of,
                    to,
                } => {
                    let scenario = ScenarioInfo::named(scenario).unwrap();
                    assert!(scenario.ratios.contains(&(of, to)), "{record:?}");
                    (scenario.name, case, vec![of, to])
                }
            };
            figures += 1;
            let scenario = ScenarioInfo::named(scenario).unwrap();
            let mut cases = scenario.cases.iter();
            assert!(cases.any(|other| other.name == case), "{record:?}");
            for contender in contenders {
                scenario.contender(contender).unwrap();
            }
        }
        assert!(figures > 50, "{figures}");
    }
}
