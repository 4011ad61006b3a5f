//! `floe config`: which settings `floe.toml` has.

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};
use crate::output::Output;
use floe_server::settings::{Setting, page, rows, schema};

/// Lists the settings of floe.toml, and prints its JSON schema
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    List(List),
    Reference(Reference),
    Schema(Schema),
}

impl Config {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(output),
            Self::Reference(reference) => reference.run(output),
            Self::Schema(schema) => schema.run(output),
        }
    }
}

/// Lists the settings of floe.toml, with defaults and meanings
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only settings whose names contain this
    name: Option<String>,
}

impl List {
    fn run(self, output: &Output) -> Result<Exit, Failure> {
        let name = self.name.unwrap_or_default();
        let matching = |setting: &&Setting| setting.key.contains(&name);
        let rows: Vec<Json> = rows::ALL
            .iter()
            .copied()
            .filter(matching)
            .map(row)
            .collect();
        if rows.is_empty() {
            let message = format_args!("no setting of floe.toml contains {name:?}");
            return Err(Failure::not_found(message).help("`floe config list` shows all settings"));
        }
        output.rows(&["key", "default", "reload", "meaning"], &rows)?;
        Ok(Exit::Success)
    }
}

fn row(setting: &Setting) -> Json {
    json!({
        "key": setting.key,
        "default": setting.default(),
        "reload": setting.effect.text(),
        "meaning": setting.meaning,
        "value": setting.value(),
        "example": setting.example,
    })
}

/// Prints the reference of all settings and properties, as Markdown
#[derive(Debug, Args)]
pub(crate) struct Reference {}

impl Reference {
    fn run(&self, output: &Output) -> Result<Exit, Failure> {
        output.text(page())?;
        Ok(Exit::Success)
    }
}

/// Prints the JSON schema of floe.toml, with which editors complete and check the file
#[derive(Debug, Args)]
pub(crate) struct Schema {}

impl Schema {
    fn run(&self, output: &Output) -> Result<Exit, Failure> {
        output.text(format_args!("{:#}", schema()))?;
        Ok(Exit::Success)
    }
}
