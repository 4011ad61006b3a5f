//! Contexts: names for a hub, the router to it, certificates and where contracts are, kept in a file of the user.
//!
//! ```toml
//! current = "lab"
//!
//! [context.lab]
//! hub = "192.168.1.10"
//! router = "gateway.lab"
//! user = "ann"
//! tls-ca = ["/etc/lab/ca.pem"]
//! include-dirs = ["/srv/contracts"]
//! ```

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;
use floe::regular_file;
use toml::{Table, Value};

use crate::exit::Failure;
use crate::tls::Certificates;

/// Which context a subcommand takes its hub, certificates and contracts from.
#[derive(Debug, Args)]
pub(crate) struct ContextArgument {
    /// The context to use [env: FLOE_CONTEXT] [default: the one of `floe context use`]
    #[arg(long, global = true, value_name = "NAME", value_parser = parse_name, help_heading = crate::COMMON, hide_short_help = true, hide_long_help = true)]
    context: Option<String>,
}

/// The name of a context.
///
/// # Errors
/// It is empty, or an entry of a request's context.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    match text {
        "" => Err("expected the name of a context, got nothing".to_owned()),
        text if text.contains('=') => Err(format!(
            "expected the name of a context, got `{text}`; --request-context KEY=VALUE adds an entry to the context \
             of requests"
        )),
        text => Ok(text.to_owned()),
    }
}

/// The hub for which a name stands. Paths are absolute.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Context {
    /// Where the hub is, as `--hub` takes it.
    pub(crate) hub: Option<String>,
    /// The router to go through, as `--router` takes it.
    pub(crate) router: Option<String>,
    /// The user for whom the router makes a session.
    pub(crate) user: Option<String>,
    /// The file with the password of the user.
    pub(crate) password_file: Option<String>,
    pub(crate) tls_ca: Vec<String>,
    pub(crate) tls_cert: Option<String>,
    pub(crate) tls_key: Option<String>,
    pub(crate) tls_any_host: bool,
    /// Where Slice files and the files that they include are searched.
    pub(crate) include_dirs: Vec<String>,
}

/// All contexts of a user.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contexts {
    /// The one that is taken where none is named.
    pub(crate) current: Option<String>,
    pub(crate) by_name: BTreeMap<String, Context>,
}

/// The context of this process.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    pub(crate) context: Context,
    /// True if it was named on the command line.
    pub(crate) is_named: bool,
}

static CHOSEN: OnceLock<Chosen> = OnceLock::new();

/// Names the context, where --context does not.
const VARIABLE: &str = "FLOE_CONTEXT";

impl ContextArgument {
    /// Returns true if a context is named on the command line.
    pub(crate) fn is_given(&self) -> bool {
        self.context.is_some()
    }

    /// Takes the context that is named, or else the current one, if there is one.
    ///
    /// # Errors
    /// The file cannot be used, or has no such context.
    pub(crate) fn choose(self) -> Result<(), Failure> {
        let is_named = self.context.is_some();
        let of_environment = || {
            env::var(VARIABLE)
                .ok()
                .filter(|name| !name.trim().is_empty())
        };
        let wanted = self.context.or_else(of_environment);
        let mut contexts = Contexts::load()?;
        let Some(name) = wanted.or_else(|| contexts.current.take()) else {
            return Ok(());
        };
        let Some(context) = contexts.by_name.remove(&name) else {
            return Err(contexts.missing(&name));
        };
        CHOSEN.get_or_init(|| Chosen {
            name,
            context,
            is_named,
        });
        Ok(())
    }
}

/// The context of this process, if it has one.
pub(crate) fn chosen() -> Option<&'static Chosen> {
    CHOSEN.get()
}

impl Context {
    /// Certificates and trust, as options would say them.
    pub(crate) fn tls(&self) -> Certificates {
        let mut certificates = Certificates::default();
        certificates.ca = self.tls_ca.iter().map(PathBuf::from).collect();
        certificates.cert = self.tls_cert.as_ref().map(PathBuf::from);
        certificates.key = self.tls_key.as_ref().map(PathBuf::from);
        certificates.any_host = self.tls_any_host;
        certificates
    }

    fn parse(table: &Table) -> Result<Self, String> {
        let mut context = Self::default();
        for (key, value) in table {
            match key.as_str() {
                "hub" => context.hub = Some(text(key, value)?),
                "router" => context.router = Some(text(key, value)?),
                "user" => context.user = Some(text(key, value)?),
                "password-file" => context.password_file = Some(text(key, value)?),
                "tls-ca" => context.tls_ca = texts(key, value)?,
                "tls-cert" => context.tls_cert = Some(text(key, value)?),
                "tls-key" => context.tls_key = Some(text(key, value)?),
                "tls-any-host" => {
                    let expected =
                        || format!("{key}: expected true or false, got a {}", value.type_str());
                    context.tls_any_host = value.as_bool().ok_or_else(expected)?;
                }
                "include-dirs" => context.include_dirs = texts(key, value)?,
                _ => {
                    return Err(format!(
                        "unknown setting {key}; expected hub, router, user, password-file, tls-ca, tls-cert, tls-key, \
                         tls-any-host or include-dirs"
                    ));
                }
            }
        }
        Ok(context)
    }

    fn print(&self, to: &mut String) {
        let list = |texts: &[String]| {
            let quoted = texts.iter().map(|text| quoted(text));
            format!("[{}]", quoted.collect::<Vec<_>>().join(", "))
        };
        let lists = [
            ("tls-ca", &self.tls_ca),
            ("include-dirs", &self.include_dirs),
        ];
        let single = [
            ("hub", &self.hub),
            ("router", &self.router),
            ("user", &self.user),
            ("password-file", &self.password_file),
            ("tls-cert", &self.tls_cert),
            ("tls-key", &self.tls_key),
        ];
        for (key, text) in single {
            if let Some(text) = text {
                let _ = writeln!(to, "{key} = {}", quoted(text));
            }
        }
        for (key, texts) in lists {
            if !texts.is_empty() {
                let _ = writeln!(to, "{key} = {}", list(texts));
            }
        }
        if self.tls_any_host {
            let _ = writeln!(to, "tls-any-host = true");
        }
    }
}

impl Contexts {
    /// Those of the user; none if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is not what it should be.
    pub(crate) fn load() -> Result<Self, Failure> {
        let Some(file) = file() else {
            return Ok(Self::default());
        };
        let read = regular_file::read_text(&file, FILE_LEN_MAX);
        let parsed = match read {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => Err(error.to_string()),
        };
        parsed.map_err(|problem| {
            let message = format_args!("the file of contexts, {}: {problem}", file.display());
            Failure::usage(message)
                .help("repair or remove the file; `floe context add` creates a new one")
        })
    }

    /// Writes them; a reader sees the old file or the new one.
    ///
    /// # Errors
    /// There is no place for the file, or it cannot be written.
    pub(crate) fn save(&self) -> Result<PathBuf, Failure> {
        let file = file().ok_or_else(|| {
            Failure::usage("there is no directory for contexts")
                .help("set HOME, or XDG_CONFIG_HOME to a directory for settings")
        })?;
        let written = write(&file, &self.print());
        written.map(|()| file.clone()).map_err(|error| {
            Failure::usage(format_args!("cannot write {}: {error}", file.display()))
        })
    }

    /// There is no context of this name.
    pub(crate) fn missing(&self, name: &str) -> Failure {
        let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        let failure = Failure::not_found(format_args!("no context `{name}`"));
        match known.as_slice() {
            [] => failure.help("`floe context add NAME --hub HOST` makes one"),
            known => failure.help(format_args!("there are: {}", known.join(", "))),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.to_string())?;
        let mut contexts = Self::default();
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("current", value) => contexts.current = Some(self::text(key, value)?),
                ("context", Value::Table(named)) => {
                    for (name, value) in named {
                        let expected = || {
                            format!(
                                "context.{name}: expected a table, got a {}",
                                value.type_str()
                            )
                        };
                        let table = value.as_table().ok_or_else(expected)?;
                        let context = Context::parse(table);
                        let context =
                            context.map_err(|wrong| format!("context.{name}: {wrong}"))?;
                        contexts.by_name.insert(name.clone(), context);
                    }
                }
                _ => {
                    return Err(format!(
                        "unknown setting {key}; expected current or context"
                    ));
                }
            }
        }
        Ok(contexts)
    }

    fn print(&self) -> String {
        let mut text = String::new();
        if let Some(current) = &self.current {
            let _ = writeln!(text, "current = {}", quoted(current));
        }
        for (name, context) in &self.by_name {
            let _ = writeln!(text, "\n[context.{}]", quoted(name));
            context.print(&mut text);
        }
        text
    }
}

/// Bytes of the file of contexts.
const FILE_LEN_MAX: usize = 1 << 20;

/// Where the contexts of a user are; none without a home.
pub(crate) fn file() -> Option<PathBuf> {
    let of = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let folder = of("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(of("HOME")?).join(".config")))?;
    Some(folder.join("floe").join("contexts.toml"))
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        regular_file::create_folder(folder)?;
    }
    // A link stays one: it may lead to where a user keeps all settings.
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let new = file.with_extension(format!("{}.new", std::process::id()));
    // It may name a token or a password one day, and says where a user works.
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    io::Write::write_all(
        &mut regular_file::open(&new, &mut options)?,
        text.as_bytes(),
    )?;
    std::fs::rename(&new, &file)
}

/// A text as TOML has it: what JSON escapes, TOML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn text(key: &str, value: &Value) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned)
        .ok_or_else(|| format!("{key}: expected a text, got a {}", value.type_str()))
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let expected = || {
        format!(
            "{key}: expected a list of texts, got a {}",
            value.type_str()
        )
    };
    let values = value.as_array().ok_or_else(expected)?;
    let each = values.iter().map(|value| text(key, value));
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let context = Context {
            hub: Some("a \"quoted\" hub\n\\".to_owned()),
            router: Some("gateway".to_owned()),
            user: Some("ann".to_owned()),
            password_file: Some("/password".to_owned()),
            tls_ca: vec!["/ca.pem".to_owned(), "/other.pem".to_owned()],
            tls_cert: Some("/own.pem".to_owned()),
            tls_key: Some("/own.key".to_owned()),
            tls_any_host: true,
            include_dirs: vec!["/slice".to_owned()],
        };
        let contexts = Contexts {
            current: Some("a.b c".to_owned()),
            by_name: [
                ("a.b c".to_owned(), context),
                ("empty".to_owned(), Context::default()),
            ]
            .into(),
        };
        assert_eq!(Contexts::parse(&contexts.print()), Ok(contexts));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, expected) in [
            ("a = 1", "unknown setting a"),
            ("[context]\na = 1", "context.a: expected a table"),
            ("[context.a]\nhbu = \"x\"", "unknown setting hbu"),
            ("[context.a]\nhub = 1", "context.a: hub: expected a text"),
            ("[context.a]\ntls-ca = \"x\"", "expected a list of texts"),
        ] {
            let wrong = Contexts::parse(text).expect_err(text);
            assert!(wrong.contains(expected), "{wrong}");
        }
    }
}
