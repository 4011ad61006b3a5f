//! `floe token sign`: a token for a user.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use floe::regular_file;
use floe_access::{Grant, Signer};

use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::Output;
use crate::peer::parse_time;

/// Signs a token: whoever has it is this user at hubs that know the issuer, until it ends
///
/// It is the only line of standard output: `FLOE_TOKEN=$(floe token sign ann)` sets it for the commands that follow.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// The name of the user
    user: String,

    /// A group of the user. Can be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,

    /// How long it is valid, such as 30m or 8h
    #[arg(long, value_name = "TIME", default_value = "12h", value_parser = parse_time)]
    expires: Duration,

    /// The issuer, if [access.tokens] of the hub has one
    #[arg(long, value_name = "TEXT")]
    issuer: Option<String>,

    /// The audience, if [access.tokens] of the hub has one
    #[arg(long, value_name = "TEXT")]
    audience: Option<String>,

    /// The private key of the issuer: a PEM file with an Ed25519 key
    #[arg(long, value_name = "FILE", default_value = "issuer.key")]
    key: PathBuf,
}

impl Sign {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let shown = self.key.display();
        if self.expires < Duration::from_secs(1) {
            let message = "expected --expires of at least 1s: the token would never be valid";
            return Err(Failure::usage(message));
        }
        let file = std::fs::read(&self.key).map_err(|error| {
            Failure::usage(format_args!("cannot read \"{shown}\": {error}"))
                .help("`floe token key` makes issuer.key; --key names another file")
        })?;
        if std::fs::metadata(&self.key).is_ok_and(|it| regular_file::is_for_others(&it)) {
            log::say(format_args!(
                "warning: {shown} signs tokens, and other users of this computer can read it: chmod go= {shown}"
            ));
        }
        let signer = Signer::parse(&file);
        let signer =
            signer.map_err(|error| Failure::usage(format_args!("\"{shown}\": {error}")))?;
        let expires = SystemTime::now() + self.expires;
        let expires = expires.duration_since(SystemTime::UNIX_EPOCH);
        let token = signer.sign(&Grant {
            user: self.user,
            groups: self.group,
            issuer: self.issuer,
            audience: self.audience,
            expires: expires.map_or(0, |since| since.as_secs()),
        });
        output.line(token.map_err(Failure::usage)?)?;
        Ok(Exit::Success)
    }
}
