//! The benchmark lab: measures Floe, its peers, and the limit of the machine itself.
//!
//! - [`scenarios`], [`run`], [`Tour`]: the questions that the lab can answer, the answer to one, and to all
//! - [`outline`](outline()): what a run would measure, and about how long it would take
//! - [`Report`]: the answer, as JSON and as a table
//! - [`Page`]: reports beside published figures, as a page and as a summary
//! - [`Comparison`]: what has changed from one run to another
//! - [`setup`]: installs what contenders need
//! - [`contender_main`]: what a process of a contender runs
//!
//! A *scenario* (`scenario/`, a file per question) names *cases* and *contenders*. A *contender*
//! (`contender/`) is a client and a server, or one process alone, that can do some of the cases.
//! `plan.rs` chooses; `run.rs` plays rounds, with `round.rs`, and `played.rs` keeps what they find: in each, every contender starts its processes, warms up, measures, and
//! ends, in an order that rotates from round to round. What the machine does meanwhile hits all
//! alike, and a ratio is taken within a round.
//! `docs/adr/0006-how-the-lab-measures.md` has the reasons.
//!
//! A new contender, case or scenario is one new file and one line in the `mod.rs` beside it.

mod awake;
mod comparison;
mod contender;
mod disturbance;
mod encodings;
mod environment;
mod error;
mod journal;
mod measure;
mod options;
mod outline;
mod page;
mod placement;
mod plan;
mod played;
mod process;
mod progress;
mod report;
mod round;
mod run;
mod sample;
mod scenario;
mod setup;
mod slow_line;
mod statistics;
mod stop;
mod tour;
mod usage;

pub use comparison::{Change, Comparison, Verdict};
pub use contender::contender_main;
pub use error::LabError;
pub use options::RunOptions;
pub use outline::{Outline, outline};
pub use page::Page;
pub use placement::Placement;
pub use progress::Progress;
pub use report::{CaseRatio, CaseResult, Environment, LeftOut, Quotients, Report, ServiceCost};
pub use run::run;
pub use scenario::{CaseInfo, ScenarioInfo, scenarios};
pub use setup::{Readiness, setup};
pub use stop::Stop;
pub use tour::{Tour, forget, run_into};
