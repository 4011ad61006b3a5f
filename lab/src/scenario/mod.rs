//! Scenarios: the questions that the lab can answer.

mod codec;
mod durable;
mod events;
mod gateway;
mod latency;
mod pubsub_rtt;
mod qos;
mod remark;
mod rpc;
mod rtt;
mod scale;
mod slow;

use crate::contender::Contender;
use crate::error::{LabError, nearest};
use crate::placement::Placement;

pub(crate) use remark::remarks;

/// All scenarios, as `floe lab list` shows them.
pub fn scenarios() -> &'static [ScenarioInfo] {
    &SCENARIOS
}

static SCENARIOS: [ScenarioInfo; 11] = [
    rpc::RPC,
    codec::CODEC,
    events::EVENTS,
    latency::LATENCY,
    rtt::RTT,
    pubsub_rtt::PUBSUB_RTT,
    scale::SCALE,
    qos::QOS,
    durable::DURABLE,
    slow::SLOW,
    gateway::GATEWAY,
];

/// A question, and who is asked.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// A line that says what it measures.
    pub summary: &'static str,
    /// In the order of the report.
    pub(crate) contenders: &'static [&'static Contender],
    /// Names that stand for several contenders.
    pub(crate) groups: &'static [(&'static str, &'static [&'static str])],
    /// The processes that a contender starts to measure.
    pub(crate) processes: Processes,
    /// Cases, in the order of the report: those of a run to which none are named.
    pub cases: &'static [CaseInfo],
    /// Further cases, with a capital letter where a number stands in their names.
    pub families: &'static [CaseInfo],
    /// The endings that names of cases of all kinds may have.
    pub(crate) variants: &'static [&'static str],
    /// The unit of the figures of a case.
    pub(crate) unit: fn(case: &str) -> Unit,
    /// Where processes run if the user does not say.
    pub(crate) placement: Placement,
    /// True if one of `families` has a case of this name.
    pub(crate) knows: fn(&str) -> bool,
    /// Pairs of contenders whose quotient the report gives: the first over the second.
    pub ratios: &'static [(&'static str, &'static str)],
}

/// The processes of a contender in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// A server, and a client that calls it.
    ServerAndClient,
    /// One that works alone.
    One,
    /// A service, publishers and subscribers, as many as the case says.
    Events,
    /// A service, a replier, and a pinger that measures.
    Topics,
    /// A service, and a process with all publishers and subscribers, as many as the case says.
    Fanout,
    /// A service that stores events, and a publisher that measures.
    Durable,
    /// A server and a client, with a slow line between them.
    OverSlowLine,
    /// A router with a back end, and a client of both.
    Gateway,
}

/// The unit of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// How long something takes: samples have nanoseconds, reports microseconds.
    Microseconds,
    /// How many events come in a second: samples have one value for each subscriber.
    EventsPerSecond,
}

impl Unit {
    /// That of this word.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Microseconds, Self::EventsPerSecond];
        all.into_iter().find(|unit| unit.name() == name)
    }

    /// Returns true if a figure that is higher is the better one.
    pub(crate) fn is_rate(self) -> bool {
        match self {
            Self::Microseconds => false,
            Self::EventsPerSecond => true,
        }
    }

    /// Its word in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::EventsPerSecond => "events/s",
        }
    }
}

/// Returns true if a scenario is judged by the means of rounds, and not by their medians: where latency through a
/// service takes one of two times, a median is one of the two by chance.
pub(crate) fn is_judged_by_means(scenario: &str) -> bool {
    scenario == events::EVENTS.name
}

/// One thing that a scenario measures.
#[derive(Debug, Clone, Copy)]
pub struct CaseInfo {
    /// The name on the command line. The part before a slash names all cases that begin with it.
    pub name: &'static str,
    /// A line that says what it measures.
    pub summary: &'static str,
}

const fn case(name: &'static str, summary: &'static str) -> CaseInfo {
    CaseInfo { name, summary }
}

/// Returns the part before the slash in the name of a case: the name of all cases that begin with it.
pub(crate) fn group(case: &str) -> &str {
    case.split_once('/').map_or(case, |(group, _)| group)
}

impl ScenarioInfo {
    /// Contenders by name, in the order of the report.
    pub fn contender_names(&self) -> Vec<&'static str> {
        let names = self.contenders.iter().map(|contender| contender.name);
        names.collect()
    }

    /// Returns true if who asks for this name means this contender.
    pub(crate) fn means(&self, asked: &str, contender: &str) -> bool {
        let mut groups = self.groups.iter();
        let is_in =
            |(name, members): &(&str, &[&str])| *name == asked && members.contains(&contender);
        asked == contender || groups.any(is_in)
    }

    /// Returns true if one of its contenders is meant by this name.
    pub(crate) fn has(&self, asked: &str) -> bool {
        let mut contenders = self.contenders.iter();
        contenders.any(|contender| self.means(asked, contender.name))
    }

    /// Finds the contender of this name.
    ///
    /// # Errors
    /// [`LabError::Unknown`].
    pub(crate) fn contender(&self, name: &str) -> Result<&'static Contender, LabError> {
        let found = self.contenders.iter().find(|other| other.name == name);
        found
            .copied()
            .ok_or_else(|| LabError::unknown("contender", name, self.contender_names()))
    }

    /// The answer to a name of no case: the kinds of cases, and the name that was perhaps meant.
    pub(crate) fn unknown_case(&self, name: &str) -> LabError {
        let listed = self.cases.iter().map(|case| case.name);
        let groups = listed.clone().map(group);
        LabError::Unknown {
            kind: "case",
            name: name.to_owned(),
            known: self.kinds(),
            nearest: nearest(name, listed.chain(groups)),
        }
    }

    /// Cases without what they may end with; those of a family only as the family, with what it says of its numbers.
    fn kinds(&self) -> Vec<String> {
        let families = || self.families.iter();
        let mut kinds: Vec<String> = Vec::new();
        for case in self.cases {
            let variants = self.variants.iter();
            let kinds_of_it = variants.filter_map(|end| case.name.strip_suffix(end));
            let kind = kinds_of_it.min_by_key(|kind| kind.len());
            let kind = kind.unwrap_or(case.name);
            let is_known = kinds.iter().any(|known| known == kind);
            if !is_known && !families().any(|family| is_of_family(kind, family.name)) {
                kinds.push(kind.to_owned());
            }
        }
        kinds.extend(families().map(|family| format!("{} ({})", family.name, family.summary)));
        if !self.variants.is_empty() {
            kinds.push(format!("each also with {}", self.variants.join(", ")));
        }
        kinds
    }

    /// Finds the scenario of this name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, LabError> {
        let names = scenarios().iter().map(|scenario| scenario.name);
        let mut all = scenarios().iter();
        all.find(|scenario| scenario.name == name)
            .ok_or_else(|| LabError::unknown("scenario", name, names))
    }
}

/// Returns true if the name has numbers where the family's has capital letters, and else the same words.
fn is_of_family(name: &str, family: &str) -> bool {
    let fits = |(word, pattern): (&str, &str)| {
        let is_number = |word: &str| word.parse::<u64>().is_ok();
        let is_letter = pattern.chars().all(char::is_uppercase);
        if is_letter {
            is_number(word)
        } else {
            word == pattern
        }
    };
    let same_len = name.split('-').count() == family.split('-').count();
    same_len && name.split('-').zip(family.split('-')).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_have_contenders_of_different_names_that_can_do_a_case() {
        for scenario in scenarios() {
            let mut names = scenario.contender_names();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), scenario.contenders.len());
            for contender in scenario.contenders {
                let cases = scenario.cases.iter();
                let can = cases.filter(|case| (contender.refusal)(case.name).is_none());
                assert_ne!(can.count(), 0, "{} in {}", contender.name, scenario.name);
            }
        }
    }

    #[test]
    fn groups_have_members() {
        for scenario in scenarios() {
            let names = scenario.contender_names();
            for (group, members) in scenario.groups {
                assert!(!names.contains(group), "{group}");
                assert!(members.iter().all(|member| names.contains(member)));
                assert!(scenario.means(group, members[0]));
            }
        }
    }

    #[test]
    fn ratios_are_between_contenders_of_the_scenario() {
        for scenario in scenarios() {
            let names = scenario.contender_names();
            for (of, to) in scenario.ratios {
                assert!(names.contains(of) && names.contains(to), "{of}/{to}");
            }
        }
    }
}
