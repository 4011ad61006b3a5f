//! `floe token show`: what a token says, and whether a hub would accept it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use floe_access::{Keys, TOKEN_LEN_MAX, Tokens, Unverified};
use serde_json::{Value as Json, json};
use x509_parser::time::ASN1Time;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Shows what a token says, and with --keys whether a hub would accept it
///
/// Without an argument it shows the token in FLOE_TOKEN. It asks no hub. Exit code 0: it is valid as far as was checked. 5: it
/// is not. 2: it is no token.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// `-` for the token on standard input, or a token: other users of this computer may see it then
    token: Option<String>,

    /// The public keys of the issuer, in PEM or as a JSON web key set: checks the signature, too
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,

    /// The issuer that the hub asks for
    #[arg(long, value_name = "TEXT", requires = "keys")]
    issuer: Option<String>,

    /// The audience that the hub asks for
    #[arg(long, value_name = "TEXT", requires = "keys")]
    audience: Option<String>,
}

impl Show {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let token = self.token()?;
        let token = token.trim();
        let read = Unverified::read(token).map_err(Failure::usage)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let problem = match &self.keys {
            Some(file) => self
                .tokens(file)?
                .verify(token, now)
                .err()
                .map(|error| error.to_string()),
            None if now >= read.expires => Some("the token has expired".to_owned()),
            None => None,
        };
        let checked = if self.keys.is_some() {
            "valid"
        } else {
            "not expired; --keys checks the signature"
        };
        let told = json!({
            "user": read.user,
            "groups": read.groups,
            "issuer": read.issuer,
            "audiences": read.audiences,
            "begins": read.begins.map(time),
            "expires": time(read.expires),
            "algorithm": read.algorithm,
            "key_id": read.key_id,
            "verdict": problem.as_deref().unwrap_or(checked),
        });
        output.record(&told, "user")?;
        Ok(match problem {
            Some(_) => Exit::Refused,
            None => Exit::Success,
        })
    }

    fn token(&self) -> Result<String, Failure> {
        match self.token.as_deref() {
            Some("-") => {
                let mut text = String::new();
                // One more byte tells that it is too long.
                let mut input = std::io::stdin().take(TOKEN_LEN_MAX as u64 + 1);
                let read = input.read_to_string(&mut text);
                read.map_err(|error| {
                    Failure::usage(format_args!("cannot read the token: {error}"))
                })?;
                Ok(text)
            }
            Some(token) => Ok(token.to_owned()),
            None => std::env::var("FLOE_TOKEN").map_err(|_| {
                Failure::usage("expected a token, got none")
                    .help("set FLOE_TOKEN, or write it to standard input: `floe token show -`")
            }),
        }
    }

    fn tokens(&self, file: &Path) -> Result<Tokens, Failure> {
        let shown = file.display();
        let read = std::fs::read(file);
        let read =
            read.map_err(|error| Failure::usage(format_args!("cannot read \"{shown}\": {error}")))?;
        let keys = Keys::parse(&read);
        Ok(Tokens {
            keys: keys.map_err(|error| Failure::usage(format_args!("\"{shown}\": {error}")))?,
            issuer: self.issuer.clone(),
            audience: self.audience.clone(),
        })
    }
}

/// A time in UTC, as RFC 3339 has it; the number of seconds if it is no time of a calendar.
fn time(seconds: u64) -> Json {
    let time = i64::try_from(seconds).ok();
    let time = time.and_then(|seconds| ASN1Time::from_timestamp(seconds).ok());
    match time {
        Some(time) => json!(crate::command::proxy::time(&time)),
        None => json!(seconds),
    }
}
