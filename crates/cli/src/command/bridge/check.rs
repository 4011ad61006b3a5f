//! `floe bridge check`: what would be refused.

use clap::Args;
use serde_json::json;

use super::file::FileArgument;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};

/// Shows what a world cannot say of the topics of a file, without starting anything
///
/// Exit code 100: something would be refused, so that the bridge does not start.
#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    file: FileArgument,
}

impl Check {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let mut rows = Vec::new();
        let mut topic_count = 0;
        for bridge in self.file.load()? {
            topic_count += bridge.topics.len();
            for topic in &bridge.topics {
                let findings = bridge.world.judge(topic).into_iter();
                let refused = findings.filter(|finding| finding.verdict.is_refused());
                rows.extend(refused.map(|finding| {
                    json!({
                        "world": bridge.world.name(),
                        "topic": topic.topic,
                        "part": finding.subject,
                        "refused": finding.verdict.to_string(),
                    })
                }));
            }
        }
        if rows.is_empty() {
            let topics = match topic_count {
                1 => "1 topic".to_owned(),
                count => format!("{count} topics"),
            };
            output::talk(format_args!("{topics}: nothing is refused"));
            return Ok(Exit::Success);
        }
        output.rows(&["world", "topic", "part", "refused"], &rows)?;
        Ok(Exit::Findings)
    }
}
