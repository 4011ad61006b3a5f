//! `floe context`: names for hubs, the routers to them, certificates and where contracts are.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::context::{self, Contexts};
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::{hub, router, tls};

/// Gives names to hubs, with the router to each, certificates and contracts, for short commands
///
/// A context has the endpoint of a hub, a router and its user, certificates, and directories with Slice files. Every command that
/// talks to a hub or a server takes these from the current context; options override them one by one. `floe
/// context use` selects the current context; --context and FLOE_CONTEXT select another one for one command.
/// `floe context show` shows the file that holds your contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    Add(Add),
    List(List),
    Show(Show),
    Use(Use),
    Remove(Remove),
}

impl Context {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::Add(add) => add.run(),
            Self::List(list) => list.run(output),
            Self::Show(show) => show.run(output),
            Self::Use(chosen) => chosen.run(),
            Self::Remove(remove) => remove.run(),
        }
        .map(|()| Exit::Success)
    }
}

/// Adds or replaces a context; the first one becomes the current context
///
/// The context includes the options --tls-ca, --tls-cert, --tls-key and --tls-any-host.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its name
    #[arg(value_parser = context::parse_name)]
    name: String,

    /// The hub: HOST, HOST:PORT, its endpoint, or the proxy of its topic manager
    #[arg(long, value_name = "ENDPOINT", value_parser = hub::parse_hub)]
    hub: Option<String>,

    /// The gateway or Glacier2 that commands with --router go through: HOST, HOST:PORT, an endpoint, or the
    /// proxy of its router
    #[arg(long, value_name = "PROXY", value_parser = router::parse_text)]
    router: Option<String>,

    /// The user for whom the router makes a session
    #[arg(long, value_name = "NAME", requires = "router", value_parser = NonEmptyStringValueParser::new())]
    user: Option<String>,

    /// A file whose first line is the password of --user
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,

    /// A directory to search for Slice files and the files that they include. Can be repeated
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
}

impl Add {
    fn run(self) -> Result<(), Failure> {
        let mut contexts = Contexts::load()?;
        let mut added = context::Context {
            hub: self.hub,
            router: self.router,
            user: self.user,
            password_file: absolute(self.password_file.iter())?.pop(),
            include_dirs: absolute(self.include_dirs.iter())?,
            ..context::Context::default()
        };
        let tls = tls::said();
        added.tls_ca = absolute(tls.ca.iter())?;
        added.tls_cert = absolute(tls.cert.iter())?.pop();
        added.tls_key = absolute(tls.key.iter())?.pop();
        added.tls_any_host = tls.any_host;
        if added == context::Context::default() {
            let message = format_args!(
                "expected what the context `{}` stands for, got nothing",
                self.name
            );
            return Err(Failure::usage(message).help(format_args!(
                "`floe context add {} --hub HOST` names a hub; `floe context add --help` shows all options",
                output::word(&self.name)
            )));
        }
        let has_hub = added.hub.is_some();
        let is_new = contexts.by_name.insert(self.name.clone(), added).is_none();
        if contexts.current.is_none() {
            contexts.current = Some(self.name.clone());
        }
        contexts.save()?;
        output::talk(format_args!(
            "{} context `{}`{}{}",
            if is_new { "added" } else { "replaced" },
            self.name,
            if has_hub { "" } else { ", which names no hub" },
            match contexts.current.as_ref() == Some(&self.name) {
                true => ", the current one".to_owned(),
                false => format!(
                    "; `floe context use {}` makes it the current one",
                    output::word(&self.name)
                ),
            }
        ));
        Ok(())
    }
}

/// Commands may run in any directory.
fn absolute<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<String>, Failure> {
    let each = paths.map(|path: &PathBuf| {
        let wrong = |problem: &str| Failure::usage(format_args!("{}: {problem}", path.display()));
        let absolute = std::path::absolute(path).map_err(|error| wrong(&error.to_string()))?;
        let text = absolute.to_str().map(str::to_owned);
        text.ok_or_else(|| wrong("expected a path in UTF-8"))
    });
    each.collect()
}

/// Lists the contexts
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    fn run(&self, output: &Output) -> Result<(), Failure> {
        let contexts = Contexts::load()?;
        let row = |(name, context): (&String, &context::Context)| {
            json!({
                "name": name,
                "current": contexts.current.as_ref() == Some(name),
                "hub": context.hub,
                "router": context.router,
            })
        };
        let rows: Vec<Json> = contexts.by_name.iter().map(row).collect();
        if rows.is_empty() {
            output::talk("no contexts; `floe context add NAME --hub HOST` makes one");
        }
        output.rows(&["name", "current", "hub", "router"], &rows)
    }
}

/// Shows a context and the file that holds it
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The name [default: the current context]
    name: Option<String>,
}

impl Show {
    fn run(self, output: &Output) -> Result<(), Failure> {
        let contexts = Contexts::load()?;
        let Some(name) = self.name.or_else(|| contexts.current.clone()) else {
            return Err(Failure::not_found("there is no current context")
                .help("`floe context use NAME` selects one, `floe context list` shows all"));
        };
        let Some(context) = contexts.by_name.get(&name) else {
            return Err(contexts.missing(&name));
        };
        let file = context::file();
        let shown = json!({
            "name": name,
            "current": contexts.current.as_ref() == Some(&name),
            "hub": context.hub,
            "router": context.router,
            "user": context.user,
            "password_file": context.password_file,
            "tls_ca": context.tls_ca,
            "tls_cert": context.tls_cert,
            "tls_key": context.tls_key,
            "tls_any_host": context.tls_any_host,
            "include_dirs": context.include_dirs,
            "file": file.as_deref().map(Path::to_string_lossy),
        });
        output.record(&shown, "name")
    }
}

/// Selects the current context
#[derive(Debug, Args)]
pub(crate) struct Use {
    /// Its name
    #[arg(required_unless_present = "none")]
    name: Option<String>,

    /// Selects no context
    #[arg(long, conflicts_with = "name")]
    none: bool,
}

impl Use {
    fn run(self) -> Result<(), Failure> {
        let mut contexts = Contexts::load()?;
        if let Some(name) = &self.name
            && !contexts.by_name.contains_key(name)
        {
            return Err(contexts.missing(name));
        }
        contexts.current = self.name;
        contexts.save()?;
        tell_current(&contexts);
        Ok(())
    }
}

/// Removes contexts
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Their names
    #[arg(required = true)]
    names: Vec<String>,
}

impl Remove {
    fn run(self) -> Result<(), Failure> {
        let mut contexts = Contexts::load()?;
        let mut removed = Vec::new();
        for name in &self.names {
            if contexts.by_name.remove(name).is_none() {
                return Err(contexts.missing(name));
            }
            let was_current = contexts.current.as_ref() == Some(name);
            contexts.current = contexts.current.filter(|_| !was_current);
            removed.push(name.as_str());
        }
        contexts.save()?;
        output::talk(format_args!("removed {}", removed.join(", ")));
        tell_current(&contexts);
        Ok(())
    }
}

/// Says which context commands take from now on.
fn tell_current(contexts: &Contexts) {
    match &contexts.current {
        Some(name) => output::talk(format_args!("the current context is `{name}`")),
        None => output::talk(
            "no context is the current one; commands take --hub, FLOE_HUB or the hub of this computer",
        ),
    }
}
