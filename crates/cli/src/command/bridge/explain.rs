//! `floe bridge explain`: how a topic is said in each world.

use clap::Args;
use floe_bridges::core::mapping::Verdict;
use serde_json::json;

use super::file::FileArgument;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Shows how a topic, its events and its qualities of service are said in each world
///
/// Each part is exact, weaker (what is lost) or refused (why, and what to do).
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The topic of the hub
    topic: String,

    #[command(flatten)]
    file: FileArgument,
}

impl Explain {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let bridges = self.file.load()?;
        let mut rows = Vec::new();
        let mut topics = Vec::new();
        for bridge in &bridges {
            topics.extend(bridge.topics.iter().map(|topic| topic.topic.as_str()));
            let topics = bridge.topics.iter();
            for topic in topics.filter(|topic| topic.topic == self.topic) {
                rows.extend(bridge.world.judge(topic).into_iter().map(|finding| {
                    let (verdict, note) = match finding.verdict {
                        Verdict::Exact => ("exact", String::new()),
                        Verdict::Weaker(lost) => ("weaker", lost),
                        Verdict::Refused { why, fix } => ("refused", format!("{why}; {fix}")),
                    };
                    json!({
                        "world": bridge.world.name(),
                        "part": finding.subject,
                        "there": finding.said_as,
                        "verdict": verdict,
                        "note": note,
                    })
                }));
            }
        }
        if rows.is_empty() {
            topics.sort_unstable();
            topics.dedup();
            let failure = Failure::usage(format_args!(
                "no bridge of the file has topic \"{}\"",
                self.topic
            ));
            return Err(failure.help(format_args!("it has {}", topics.join(", "))));
        }
        output.rows(&["world", "part", "there", "verdict", "note"], &rows)?;
        Ok(Exit::Success)
    }
}
