//! `floe access check`: says whether a user may do something, and which rule decides it.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use floe::Identity;
use floe_access::{
    ANONYMOUS, Action, Called, Caller, Decided, DistinguishedName, Place, check_name,
};
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};
use crate::output::{self, Format, Output};
use crate::peer;
use floe_server::Configuration;

/// Shows whether a user may do something with a topic, and which rule of a floe.toml decides
///
/// It asks no hub. Exit code 0: the user may. 5: the user may not. 2: a hub would not accept the floe.toml or a
/// file that it names.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The name of a user, or `anonymous`
    user: String,

    /// The action of the user: create, destroy, publish, subscribe, link, observe or admin at a hub; login or call at a
    /// gateway
    action: Action,

    /// The name of a topic, or the identity of the object to call [default: none, which stands for the
    /// hub or the gateway as a whole]
    #[arg(default_value = "", hide_default_value = true)]
    topic: String,

    /// The settings of the hub
    #[arg(long, value_name = "FILE", default_value = "floe.toml")]
    config: PathBuf,

    /// The operation to call
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    operation: String,

    /// The adapter id in the proxy of the object to call
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// A group in the user's token. Can be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,

    /// The subject of the user's certificate, such as "CN=ann,O=ZeroC"
    #[arg(long, value_name = "SUBJECT")]
    certificate: Option<DistinguishedName>,

    /// The address of the user, or `local` for a Unix socket [default: unknown, which is in no network]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_place)]
    from: Option<Place>,
}

impl Check {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let configuration = Configuration::read(&self.config, peer::settings(None), |_| ())?;
        let access = &configuration.hub.access;
        let caller = self.caller()?;
        if let Some(user) = &caller.user
            && !access.users().is_empty()
            && !access.users().has(user)
        {
            output::talk(format_args!(
                "{user} is not in the users' file; only a token could have this name"
            ));
        }
        let decision = match self.action {
            Action::Call => access.decide_call(
                &caller,
                &Called {
                    identity: &self.identity()?.to_string(),
                    category: &self.identity()?.category,
                    adapter: self.adapter.as_deref(),
                    operation: &self.operation,
                },
            ),
            action => access.decide(&caller, action, &self.topic),
        };
        self.tell(decision.is_allowed, decision.decided, output)?;
        Ok(match decision.is_allowed {
            true => Exit::Success,
            false => Exit::Refused,
        })
    }

    /// The object to call.
    fn identity(&self) -> Result<Identity, Failure> {
        let text = &self.topic;
        text.parse().map_err(|error| {
            Failure::usage(format_args!("expected an identity, got `{text}`: {error}"))
        })
    }

    fn caller(&self) -> Result<Caller, Failure> {
        let is_anonymous = self.user == ANONYMOUS;
        let names = self
            .group
            .iter()
            .chain((!is_anonymous).then_some(&self.user));
        for name in names {
            check_name(name).map_err(Failure::usage)?;
        }
        let mut caller = Caller::anonymous(self.from.unwrap_or(Place::Unknown));
        caller.user = (!is_anonymous).then(|| self.user.clone());
        caller.groups.clone_from(&self.group);
        caller.certificate.clone_from(&self.certificate);
        Ok(caller)
    }

    fn tell(&self, is_allowed: bool, decided: Decided, output: &Output) -> Result<(), Failure> {
        let verdict = if is_allowed { "allowed" } else { "refused" };
        let (rule, line) = match decided {
            Decided::Rule { index, line } => (json!(index + 1), json!(line)),
            _ => (Json::Null, Json::Null),
        };
        if output.format() == Format::Table {
            let file = self.config.display();
            return match decided {
                Decided::Open => output.line(format_args!("{verdict}: {file} has no rules")),
                Decided::NoRule => {
                    output.line(format_args!("{verdict}: no rule of {file} applies"))
                }
                rule @ Decided::Rule { .. } => {
                    output.line(format_args!("{verdict}: {rule} of {file}"))
                }
            };
        }
        let told = json!({
            "verdict": verdict,
            "user": self.user,
            "action": self.action.name(),
            "topic": self.topic,
            "rule": rule,
            "line": line,
            "reason": decided.to_string(),
        });
        output.value(&told, &told["verdict"])
    }
}

fn parse_place(text: &str) -> Result<Place, String> {
    if text == "local" {
        return Ok(Place::Here);
    }
    let address: Result<IpAddr, _> = text.parse();
    let address = address.map_err(|_| format!("expected an IP address or local, got `{text}`"))?;
    Ok(Place::At(address))
}
