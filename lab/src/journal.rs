//! The journal of a run: a file with its measurements so far, so that an interrupted run continues where it stopped.
//!
//! A line of JSON for each thing that happened, written when it happened:
//!
//! ```text
//! {"run": {..}, "environment": {..}}                      the first line: which run it is, and where it began
//! {"case": text, "contender": text, "sample": {..}}       a measurement
//! {"left_out": {..}}                                      a contender has failed
//! {"disturbance": {..}}                                   a round has ended
//! ```
//!
//! A last line without an end is what a run wrote when the machine stopped; it is cut off.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::disturbance::Disturbance;
use crate::environment::Environment;
use crate::error::LabError;
use crate::report::LeftOut;
use crate::sample::Sample;

/// The file of a run.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

/// An event of the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    Measured {
        case: String,
        contender: String,
        sample: Sample,
    },
    LeftOut(LeftOut),
    RoundEnded(Disturbance),
}

/// The content of the file of a run that was interrupted.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// That in which the run began.
    pub(crate) environment: Environment,
    pub(crate) entries: Vec<Entry>,
}

impl Journal {
    /// Opens the file of the run `identity`, or begins it; what was recorded is `None` if it was not there.
    ///
    /// # Errors
    /// [`LabError::Journal`]: the file is of another run, or of no run; [`LabError::System`].
    pub(crate) fn open(
        path: &Path,
        identity: &Value,
        environment: &Environment,
    ) -> Result<(Self, Option<Recorded>), LabError> {
        let refused =
            |source| LabError::system(format!("write a journal to {}", path.display()), source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(refused)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(refused)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(refused)?;
        file.seek(SeekFrom::End(0)).map_err(refused)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
        };
        let recorded = Recorded::read(&text[..whole], identity);
        let recorded = recorded.map_err(|reason| LabError::Journal {
            path: path.to_owned(),
            reason,
        })?;
        if recorded.is_none() {
            journal.write(&json!({"run": identity, "environment": environment.to_json()}))?;
        }
        Ok((journal, recorded))
    }

    /// Writes down what happened.
    ///
    /// # Errors
    /// [`LabError::System`].
    pub(crate) fn note(&mut self, entry: &Entry) -> Result<(), LabError> {
        self.write(&entry.to_json())
    }

    fn write(&mut self, line: &Value) -> Result<(), LabError> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|source| {
            LabError::system(
                format!("write a journal to {}", self.path.display()),
                source,
            )
        })
    }
}

impl Recorded {
    /// `None` if there is nothing yet.
    fn read(text: &str, identity: &Value) -> Result<Option<Self>, String> {
        let mut lines = text.lines().enumerate().map(|(index, line)| {
            let wrong = |error| format!("expected JSON in line {}, got {error}", index + 1);
            serde_json::from_str::<Value>(line)
                .map(|value| (index + 1, value))
                .map_err(wrong)
        });
        let Some(head) = lines.next() else {
            return Ok(None);
        };
        let (_, head) = head?;
        let run = head.get("run").unwrap_or(&Value::Null);
        if let Some(difference) = difference(run, identity) {
            return Err(format!("it holds another run: {difference}"));
        }
        let environment = head.get("environment").unwrap_or(&Value::Null);
        let environment = Environment::from_json(environment)?;
        let entries = lines.map(|line| {
            let (number, line) = line?;
            Entry::from_json(&line).map_err(|reason| format!("in line {number}, {reason}"))
        });
        Ok(Some(Self {
            environment,
            entries: entries.collect::<Result<_, _>>()?,
        }))
    }
}

/// The first member in which two objects differ.
fn difference(recorded: &Value, expected: &Value) -> Option<String> {
    let Some(members) = expected.as_object() else {
        return (recorded != expected).then(|| format!("expected {expected}, got {recorded}"));
    };
    let of_recorded = |name: &str| recorded.get(name).unwrap_or(&Value::Null);
    let (name, value) = members
        .iter()
        .find(|(name, value)| of_recorded(name) != *value)?;
    Some(format!(
        "expected {name} {value}, got {}",
        of_recorded(name)
    ))
}

impl Entry {
    fn to_json(&self) -> Value {
        match self {
            Self::Measured {
                case,
                contender,
                sample,
            } => json!({"case": case, "contender": contender, "sample": sample.to_record()}),
            Self::LeftOut(left_out) => json!({"left_out": left_out.to_json()}),
            Self::RoundEnded(disturbance) => json!({"disturbance": disturbance.to_json()}),
        }
    }

    fn from_json(line: &Value) -> Result<Self, String> {
        if let Some(left_out) = line.get("left_out") {
            return LeftOut::from_json(left_out, "left_out").map(Self::LeftOut);
        }
        if let Some(disturbance) = line.get("disturbance").and_then(Disturbance::from_json) {
            return Ok(Self::RoundEnded(disturbance));
        }
        let text = |name: &str| line.get(name)?.as_str().map(str::to_owned);
        let names = text("case").zip(text("contender")).zip(line.get("sample"));
        let ((case, contender), sample) = names.ok_or("expected what happened in a run")?;
        Ok(Self::Measured {
            case,
            contender,
            sample: Sample::from_record(sample)?,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::placement::Placement;

    /// The path of a file that is not there, in a folder of its own.
    pub(crate) fn path(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("floe-lab-{}-{name}", std::process::id()));
        // Of an earlier run.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder.join("journal.jsonl")
    }

    fn environment() -> Environment {
        Environment::of_this_machine(&[], Placement::Free)
    }

    fn entries() -> [Entry; 3] {
        let mut sample = Sample::new();
        sample.record(1_000.0, 10);
        [
            Entry::Measured {
                case: "twoway".to_owned(),
                contender: "floe".to_owned(),
                sample,
            },
            Entry::LeftOut(LeftOut {
                contender: "ice".to_owned(),
                cases: vec!["twoway".to_owned()],
                reason: "in round 1 of 3 of twoway, no luck".to_owned(),
                has_failed: true,
            }),
            Entry::RoundEnded(Disturbance {
                // Read back inexactly, it is another number.
                busy_cores: 18.0 / 19.0,
                steal: 0.0,
            }),
        ]
    }

    #[test]
    fn what_happened_is_read_again_without_a_line_that_was_cut_off() {
        let path = path("cut-off");
        let identity = json!({"rounds": 3});
        let (mut journal, recorded) = Journal::open(&path, &identity, &environment()).unwrap();
        assert!(recorded.is_none());
        for entry in &entries() {
            journal.note(entry).unwrap();
        }
        drop(journal);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"case\": \"two").unwrap();
        for _ in 0..2 {
            let (_, recorded) = Journal::open(&path, &identity, &environment()).unwrap();
            assert_eq!(recorded.unwrap().entries, entries());
        }
    }

    #[test]
    fn the_file_of_another_run_is_refused_with_the_difference() {
        let path = path("another");
        let open = |identity: &Value| {
            let opened = Journal::open(&path, identity, &environment());
            opened.map(|_| ()).map_err(|error| error.to_string())
        };
        open(&json!({"rounds": 3, "awake": true})).unwrap();
        let error = open(&json!({"rounds": 5, "awake": true})).unwrap_err();
        assert!(
            error.ends_with("holds another run: expected rounds 5, got 3"),
            "{error}"
        );
        std::fs::write(&path, "hello\n").unwrap();
        let error = open(&json!({"rounds": 3})).unwrap_err();
        assert!(error.contains("expected JSON in line 1"), "{error}");
    }
}
