//! `[gateway]` of a `floe.toml`: the settings of a gateway by Floe's names.

use std::path::Path;
use std::sync::Arc;

use floe::regular_file;
use floe::settings::Compression;
use floe::{Identity, Reference};
use floe_access::{USERS_FILE_MAX, Users};
use floe_gateway::{AddressRule, AdminSettings, GatewaySettings, PasswordVerifier};

use super::entry::{Entry, Problem};

/// Where a gateway listens that does not say it: the port that is registered for routers of Ice.
const LISTEN: &str = "tcp -h 127.0.0.1 -p 4063";

/// Where its administrative object listens that has a name alone.
const ADMIN_LISTEN: &str = "tcp -h 127.0.0.1 -p 4066";

/// A gateway of which nothing is said yet.
pub(super) fn new() -> GatewaySettings {
    GatewaySettings::new(LISTEN)
}

/// Requests a second.
pub(super) fn rate(entry: &Entry) -> Result<u32, Problem> {
    let count = entry.count()?;
    u32::try_from(count).map_err(|_| {
        problem(
            entry,
            &format!("expected at most {} a second, got {count}", u32::MAX),
        )
    })
}

/// The settings of the administrative object.
pub(super) fn admin(gateway: &mut GatewaySettings) -> &mut AdminSettings {
    gateway
        .admin
        .get_or_insert_with(|| AdminSettings::new(ADMIN_LISTEN))
}

/// There is one verifier of passwords.
pub(super) fn set_password_verifier(
    verifier: PasswordVerifier,
    entry: &Entry,
    gateway: &mut GatewaySettings,
) -> Result<(), Problem> {
    if gateway.password_verifier.is_some() {
        let wrong =
            "expected one verifier of passwords, got a second one: keep `passwords` or `verifier`";
        return Err(problem(entry, wrong));
    }
    gateway.password_verifier = Some(verifier);
    Ok(())
}

/// The users of a file of passwords, and warnings of lines that are left out.
///
/// # Errors
/// What is wrong with the file or its text.
pub(super) fn users(file: &str) -> Result<(Users, Vec<String>), String> {
    let read = regular_file::read(Path::new(file), USERS_FILE_MAX);
    let text = read.map_err(|error| format!("cannot read {file}: {error}"))?;
    if std::fs::metadata(file).is_ok_and(|it| regular_file::is_for_others(&it)) {
        crate::notice::warn_of_readers(Path::new(file));
    }
    let users = Users::parse(&text).map_err(|problems| format!("{file}: {problems}"))?;
    let left_out = users.problems().iter();
    let left_out = left_out.map(|problem| format!("{file}: {problem}; it is left out"));
    let left_out = left_out.collect();
    Ok((users, left_out))
}

/// A proxy, or none for `accept-all`.
pub(super) fn verifier(entry: &Entry, what: &str) -> Result<Option<Reference>, Problem> {
    match entry.text(&format!("{what}, or \"accept-all\""))?.as_str() {
        "accept-all" => Ok(None),
        _ => proxy(entry).map(Some),
    }
}

pub(super) fn proxy(entry: &Entry) -> Result<Reference, Problem> {
    entry.parsed("a proxy", |text| {
        let parsed: Result<Reference, _> = text.parse();
        parsed.map_err(|error| format!("`{text}` is no proxy: {error}"))
    })
}

/// Identities that clients may reach.
pub(super) fn identities(entry: &Entry) -> Result<Vec<Identity>, Problem> {
    let texts = entry.texts("an identity, such as category/name")?;
    let parsed = texts.iter().map(|text| {
        let parsed: Result<Identity, _> = text.parse();
        parsed.map_err(|error| problem(entry, &format!("`{text}` is no identity: {error}")))
    });
    parsed.collect()
}

/// Compressions towards peers of Floe.
pub(super) fn compressions(entry: &Entry) -> Result<Arc<[Compression]>, Problem> {
    let texts = entry.texts("a compression")?;
    let named = texts.iter().map(|text| {
        Compression::from_name(text).ok_or_else(|| {
            let names = Compression::ALL.map(Compression::as_str).join(", ");
            problem(entry, &format!("expected some of {names}, got `{text}`"))
        })
    });
    named.collect()
}

/// Hosts and ports that clients may or may not reach.
pub(super) fn rules(entry: &Entry) -> Result<Vec<AddressRule>, Problem> {
    let texts = entry.texts("a rule, such as \"db*.example.com:[1000-2000]\"")?;
    let parsed = texts.iter().map(|text| {
        let parsed: Result<AddressRule, _> = text.parse();
        parsed.map_err(|error| problem(entry, &error.to_string()))
    });
    parsed.collect()
}

pub(super) fn problem(entry: &Entry, wrong: &str) -> Problem {
    Problem::new(entry.line, format_args!("{}: {wrong}", entry.name()))
}
