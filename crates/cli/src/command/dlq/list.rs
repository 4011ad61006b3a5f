//! `floe dlq list`.

use clap::Args;
use floe::Communicator;
use floe_dynamic::to_hex;
use floe_hub::contracts::floe::LoggedEvent;
use serde_json::{Value as Json, json};

use super::Letters;
use crate::contract::ContractArguments;
use crate::count;
use crate::event::EventReader;
use crate::exit::Failure;
use crate::output::{Format, Output};

/// Lists dead letters, with their origin, the reason and their parameters
///
/// With --slice, the parameters are decoded. Without it, a table shows their size and their first bytes in hexadecimal, and JSON
/// has all bytes (`parameters_hex`). They are read and written in pages: a long list needs little memory, and a table has a
/// heading for each 200 rows.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) letters: Letters,

    /// The number of the first letter to list
    #[arg(long, value_name = "LETTER", default_value_t = 1, value_parser = count::at_least_one::<i64>)]
    from: i64,

    /// Ends after this many letters
    #[arg(short = 'n', long, value_parser = count::at_least_one::<u64>)]
    count: Option<u64>,

    #[command(flatten)]
    contract: ContractArguments,
}

/// The columns of a table.
const COLUMNS: [&str; 8] = [
    "letter",
    "operation",
    "subscription",
    "sequence",
    "attempts",
    "replayed",
    "reason",
    "parameters",
];

impl List {
    pub(super) async fn run(
        self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let letters = &self.letters;
        let interface = self.contract.interface();
        let contract = self.contract.load()?;
        let mut reader = contract.map(|contract| EventReader::new(contract, interface));
        let is_table = output.format() == Format::Table;
        let topics = letters.durable_topics(communicator)?;
        let own = letters.of();
        let contents = letters.contents(&topics).await?;
        let replayed = own.replayed_until(&contents);
        let mut pages = output.pages(&COLUMNS);
        let (mut left, mut others) = (self.count.unwrap_or(u64::MAX), 0);
        let mut from = contents.first.max(self.from);
        while from < contents.next && left > 0 {
            let (events, next) = letters.read(&topics, from).await?;
            let mut rows = Vec::new();
            for event in events {
                if !own.has(&event) {
                    others += 1;
                    continue;
                }
                if left == 0 {
                    break;
                }
                left -= 1;
                let mut row = row(&event, event.number < replayed);
                add_parameters(event, reader.as_mut(), is_table, &mut row);
                rows.push(row);
            }
            pages.page(&rows)?;
            if next <= from {
                break;
            }
            from = next;
        }
        pages.end()?;
        letters.tell_of_others(others);
        Ok(())
    }
}

fn row(event: &LoggedEvent, is_replayed: bool) -> Json {
    let entry = |key: &str| event.context.get(key).cloned();
    let number = |key: &str| entry(key).and_then(|text| text.parse::<i64>().ok());
    json!({
        "letter": event.number,
        "operation": event.operation,
        "topic": entry("floe.deadTopic"),
        "subscription": entry("floe.deadSubscription"),
        "sequence": number("floe.deadSequence"),
        "time": number("floe.deadTime"),
        "attempts": number("floe.deadAttempts"),
        "replayed": is_replayed,
        "reason": entry("floe.deadReason"),
    })
}

/// Adds the parameters: decoded if there is a contract, and else their bytes.
fn add_parameters(
    event: LoggedEvent,
    reader: Option<&mut EventReader>,
    is_table: bool,
    row: &mut Json,
) {
    let payload = event.parameters.get(ENCAPSULATION_HEADER_LEN..);
    let payload = payload.unwrap_or(&event.parameters);
    row["parameters_bytes"] = payload.len().into();
    if !is_table {
        row["parameters_hex"] = to_hex(payload).into();
    }
    let Some(reader) = reader else {
        row["parameters"] = match is_table {
            true => bytes_text(payload).into(),
            false => Json::Null,
        };
        return;
    };
    let bytes = is_table.then(|| bytes_text(payload));
    let mut read = reader.read_logged(event);
    row["parameters"] = match (read["parameters"].take(), bytes) {
        (Json::Null, Some(bytes)) => {
            format!("{bytes} ({})", read["error"].as_str().unwrap_or("")).into()
        }
        (parameters, _) => parameters,
    };
    if let Some(error) = read.get("error") {
        row["error"] = error.clone();
    }
}

/// The bytes of parameters in a cell of a table.
fn bytes_text(payload: &[u8]) -> String {
    let (shown, dots) = match payload.len() > SHOWN_BYTES {
        true => (&payload[..SHOWN_BYTES], "..."),
        false => (payload, ""),
    };
    format!("{} bytes: {}{dots}", payload.len(), to_hex(shown))
}

/// A table shows this many bytes of parameters that it cannot decode.
const SHOWN_BYTES: usize = 16;
/// The size and the encoding in front of parameters.
const ENCAPSULATION_HEADER_LEN: usize = 6;
