//! Plays the rounds of a scenario.

use crate::awake::Spinners;
use crate::contender::Ready;
use crate::error::LabError;
use crate::measure::Effort;
use crate::options::RunOptions;
use crate::placement::Cores;
use crate::plan::Plan;
use crate::report::{Environment, Measured, Report};
use crate::round::{measure_alone, measure_events, measure_pair};
use crate::sample::{Encoded, Sample};
use crate::scenario::{Processes, ScenarioInfo, group};

/// What a run is about to do, or has noticed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// A contender is made ready; the first time it may have to be built.
    Preparing {
        /// The contender.
        contender: String,
    },
    /// A contender that was not asked for by name is left out.
    Skipped {
        /// The contender.
        contender: String,
        /// What is missing, and how to get it.
        reason: String,
    },
    /// Something that makes the figures worth less.
    Warning(String),
    /// A contender measures.
    Measuring {
        /// The case.
        case: String,
        /// The contender.
        contender: String,
        /// Measurements that are done, of all contenders, cases and rounds.
        done: usize,
        /// Measurements that there will be.
        total: usize,
    },
}

/// Runs a scenario, and says meanwhile what it is doing. It blocks, for about the number of rounds
/// times contenders times cases times [`RunOptions::round_time`].
///
/// # Errors
/// [`LabError`]: a name that does not exist, a contender that was asked for and is not available, or
/// one that fails.
pub fn run(
    scenario: &str,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, LabError> {
    let scenario = ScenarioInfo::named(scenario)?;
    let plan = Plan::new(scenario, options, progress)?;
    let placement = options.placement.unwrap_or(scenario.placement);
    let mut environment = Environment::of_this_machine(&plan.contenders, placement);
    environment.is_awake = options.awake;
    for warning in environment.warnings() {
        progress(Progress::Warning(warning));
    }
    let cores = Cores::new(placement)
        .map_err(|source| LabError::system("find out the cores of this process", source))?;
    let spinners = options.awake.then(|| Spinners::start(options));
    let _spinners = spinners.transpose()?;
    let mut measured: Vec<_> = plan
        .pairs
        .iter()
        .map(|(case, index)| Measured {
            case,
            contender: &plan.contenders[*index],
            rounds: Vec::new(),
        })
        .collect();
    let rounds = options.effective_rounds();
    let effort = Effort {
        round_time: options.effective_round_time(),
    };
    let total = rounds * measured.len();
    let mut encodings = Encodings::default();
    for round in 0..rounds {
        for index in rotated(measured.len(), round) {
            let Measured {
                case, contender, ..
            } = measured[index];
            progress(Progress::Measuring {
                case: case.to_owned(),
                contender: contender.name.to_owned(),
                done: measured.iter().map(|pair| pair.rounds.len()).sum(),
                total,
            });
            let sample = match scenario.processes {
                Processes::ServerAndClient => measure_pair(contender, case, effort, &cores)?,
                Processes::One => measure_alone(contender, case, effort, &cores)?,
                Processes::Events => measure_events(contender, case, effort, &cores)?,
            };
            encodings.compare(contender, case, &sample)?;
            measured[index].rounds.push(sample);
        }
    }
    Ok(Report::new(
        scenario,
        environment,
        &measured,
        plan.left_out.clone(),
    ))
}

/// The numbers below `count`, starting with another one in each round: nobody is always the one
/// that runs after a certain other one has warmed or cooled the machine.
fn rotated(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| (index + round) % count)
}

/// Whose bytes those of others are compared with: the first ones of each case and encoding.
#[derive(Debug, Default)]
struct Encodings {
    first: Vec<(&'static str, String, &'static str, Encoded)>,
}

impl Encodings {
    /// Notes what was encoded, or compares it.
    ///
    /// # Errors
    /// [`LabError::Contender`] if the bytes are not those of the others with the same encoding.
    fn compare(&mut self, contender: &Ready, case: &str, sample: &Sample) -> Result<(), LabError> {
        let (Some(encoding), Some(encoded)) = (contender.encoding, &sample.encoded) else {
            return Ok(());
        };
        let of = group(case);
        let mut first = self.first.iter();
        match first.find(|(other, case, ..)| *other == encoding && case == of) {
            None => {
                let own = (encoding, of.to_owned(), contender.name, encoded.clone());
                self.first.push(own);
                Ok(())
            }
            Some((_, _, _, expected)) if expected == encoded => Ok(()),
            Some((_, _, name, expected)) => {
                let reason = format!(
                    "expected the {} bytes with digest {} that {name} encodes {of} to, got {} bytes \
                     with digest {}: the two disagree on the encoding {encoding}",
                    expected.len, expected.digest, encoded.len, encoded.digest
                );
                Err(LabError::contender(contender.name, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_starts_with_another_one() {
        let order = |round| rotated(3, round).collect::<Vec<_>>();
        assert_eq!(
            [order(0), order(1), order(5)],
            [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        );
    }

    #[test]
    fn bytes_that_differ_within_an_encoding_end_the_run() {
        let sample = |bytes: &[u8]| {
            let mut sample = Sample::new();
            sample.encoded = Some(Encoded::of(bytes));
            sample
        };
        let ready = |name, encoding| Ready::for_tests(name, encoding);
        let mut encodings = Encodings::default();
        let mut compare = |name, encoding, case, bytes: &[u8]| {
            encodings.compare(&ready(name, encoding), case, &sample(bytes))
        };
        compare("ice", Some("Ice 1.1"), "text/encode", b"abc").unwrap();
        compare("floe", Some("Ice 1.1"), "text/decode", b"abc").unwrap();
        compare("gsoap", None, "text/encode", b"<abc/>").unwrap();
        compare("floe", Some("Ice 1.1"), "nested/encode", b"xyz").unwrap();
        let error = compare("floe", Some("Ice 1.1"), "text/encode", b"abcd").unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("contender floe failed: expected the 3 bytes with digest ")
                && error.contains("that ice encodes text to, got 4 bytes"),
            "{error}"
        );
    }
}
