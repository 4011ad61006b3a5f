//! A property file of Glacier2: the settings of a gateway by Glacier2's names.
//!
//! Source: Ice manual, "Glacier2 Properties".

use std::time::Duration;

use floe::{Identity, InvocationMode, Reference};
use floe_gateway::{
    AddressRule, AdminSettings, Batching, CertificateVerifier, ConnectionContext, FilterSettings,
    ForwardingSettings, GatewaySettings, PasswordVerifier, UserCategory,
};

use super::entry::Problem;
use super::gateway::users;
use super::ice::Ice;
use super::known_properties::is_known;
use super::nearest;
use super::properties::Property;
use super::views::{METRICS, Views};
use super::{Configuration, known_properties, views};

/// The property without which there is no router.
pub(super) const LISTEN: &str = "Glacier2.Client.Endpoints";

/// The settings, and all that is wrong with them. What means nothing to Floe is a warning. There is no hub then.
pub(super) fn read(properties: &[Property], configuration: &mut Configuration) -> Vec<Problem> {
    let is_read = views::are_read(properties);
    if !is_read {
        views::ignore_unread(properties, configuration);
    }
    let mut router = Router::default();
    let mut ice = Ice::default();
    let mut problems = Vec::new();
    for property in properties {
        let applied = match property.name.strip_prefix("Glacier2.") {
            Some(name) => router.apply(name, property, configuration),
            None if !is_read && property.name.starts_with(METRICS) => Ok(()),
            None if is_of_admin(&property.name) => router.apply_admin(property, configuration),
            None => ice.apply(property, configuration),
        };
        problems.extend(applied.err());
    }
    configuration.has_hub = false;
    let mut warnings = Vec::new();
    configuration.gateway = Some(router.finish(&mut problems, &mut warnings));
    configuration.warnings.extend(warnings);
    ice.finish(configuration);
    problems
}

fn is_of_admin(name: &str) -> bool {
    name.starts_with("Ice.Admin.") || name.starts_with(METRICS)
}

const NO_ADMIN: &str =
    "the administrative object of a Floe gateway has the facets Process and Metrics alone";

/// The content of the file, with properties that only make sense together.
struct Router {
    gateway: GatewaySettings,
    password_verifier: Option<Reference>,
    passwords: Option<Property>,
    certificate_verifier: Option<Reference>,
    admin_listen: Option<String>,
    admin_instance: Option<String>,
    is_admin_off: bool,
    views: Views,
}

impl Default for Router {
    fn default() -> Self {
        let mut gateway = GatewaySettings::new("");
        // In Glacier2, what waits leaves request by request.
        gateway.to_servers.batching = Batching::Off;
        gateway.to_clients.batching = Batching::Off;
        Self {
            gateway,
            password_verifier: None,
            passwords: None,
            certificate_verifier: None,
            admin_listen: None,
            admin_instance: None,
            is_admin_off: false,
            views: Views::default(),
        }
    }
}

impl Router {
    fn apply(
        &mut self,
        name: &str,
        property: &Property,
        configuration: &mut Configuration,
    ) -> Result<(), Problem> {
        if !is_known(known_properties::OF_GLACIER2, name) {
            return ignored(name, property, configuration);
        }
        let gateway = &mut self.gateway;
        match name {
            "Client.Endpoints" => gateway.client_listen = property.endpoints()?,
            "Client.PublishedEndpoints" => {
                gateway.client_published_endpoints = Some(property.published_endpoints()?);
            }
            "Server.Endpoints" => gateway.server_listen = Some(property.endpoints()?),
            "Server.PublishedEndpoints" => {
                gateway.server_published_endpoints = Some(property.published_endpoints()?);
            }
            "InstanceName" => gateway.instance_name.clone_from(&property.value),
            "SessionTimeout" => gateway.session_timeout = seconds(property)?,
            "Client.ACM.Timeout" => gateway.idle_timeout = seconds(property)?,
            "SessionManager" => gateway.session_manager = Some(proxy(property)?),
            "SSLSessionManager" => gateway.certificate_session_manager = Some(proxy(property)?),
            "PermissionsVerifier" => {
                self.password_verifier = Some(proxy(property)?);
            }
            "SSLPermissionsVerifier" => self.certificate_verifier = Some(proxy(property)?),
            "CryptPasswords" => self.passwords = Some(property.clone()),
            "AddConnectionContext" => {
                gateway.connection_context = match property.number(0, "0, 1 or 2")? {
                    0 => ConnectionContext::Off,
                    1 => ConnectionContext::All,
                    2 => ConnectionContext::Application,
                    _ => return Err(property.expected("0, 1 or 2")),
                };
            }
            "ReturnClientProxy" => gateway.returns_client_proxy = property.flag()?,
            "RoutingTable.MaxSize" => gateway.routing_table_max = count(property)?,
            _ => {
                if let Some(key) = name.strip_prefix("Filter.") {
                    return apply_filter(key, property, &mut gateway.filter);
                }
                let forwarding = match name.split_once('.') {
                    Some(("Client", key)) => Some((key, &mut gateway.to_servers)),
                    Some(("Server", key)) => Some((key, &mut gateway.to_clients)),
                    _ => None,
                };
                let is_known =
                    forwarding.map(|(key, forwarding)| apply_forwarding(key, property, forwarding));
                if is_known.transpose()? != Some(true) {
                    return ignored(name, property, configuration);
                }
            }
        }
        Ok(())
    }

    fn apply_admin(
        &mut self,
        property: &Property,
        configuration: &mut Configuration,
    ) -> Result<(), Problem> {
        if let Some(name) = property.name.strip_prefix(METRICS) {
            return self
                .views
                .apply(name, property, &views::GATEWAY, configuration);
        }
        match property.name.as_str() {
            "Ice.Admin.Enabled" => self.is_admin_off = !property.flag()?,
            "Ice.Admin.Endpoints" => self.admin_listen = Some(property.endpoints()?),
            "Ice.Admin.InstanceName" => self.admin_instance = Some(property.value.clone()),
            _ => property.ignore(NO_ADMIN, configuration),
        }
        Ok(())
    }

    fn finish(self, problems: &mut Vec<Problem>, warnings: &mut Vec<Problem>) -> GatewaySettings {
        let mut gateway = self.gateway;
        let null = |name: &str| Identity::with_category(name, &gateway.instance_name);
        let verifier = self.password_verifier.map(|proxy| {
            match proxy.identity == null("NullPermissionsVerifier") {
                true => PasswordVerifier::AcceptAll,
                false => PasswordVerifier::Proxy(proxy),
            }
        });
        gateway.certificate_verifier = self.certificate_verifier.map(|proxy| {
            match proxy.identity == null("NullSSLPermissionsVerifier") {
                true => CertificateVerifier::AcceptAll,
                false => CertificateVerifier::Proxy(proxy),
            }
        });
        gateway.password_verifier = verifier;
        let listen = self.admin_listen.filter(|_| !self.is_admin_off);
        gateway.admin = listen.map(|listen| {
            let mut admin = AdminSettings::new(listen);
            if let Some(name) = self.admin_instance {
                admin.instance_name = name;
            }
            admin.views = self.views.finish(&views::GATEWAY, problems);
            admin
        });
        if let (Some(property), Some(_)) = (&self.passwords, &gateway.password_verifier) {
            // As in Glacier2.
            warnings.push(
                property
                    .note("ignored: the verifier in Glacier2.PermissionsVerifier decides alone"),
            );
        }
        if let (Some(property), None) = (self.passwords, &gateway.password_verifier) {
            match users(&property.value) {
                Ok((users, left_out)) => {
                    let left_out = left_out.iter().map(|line| property.note(line));
                    warnings.extend(left_out);
                    gateway.password_verifier = Some(PasswordVerifier::Users(users));
                }
                Err(wrong) => problems.push(property.note(wrong)),
            }
        }
        gateway
    }
}

fn apply_filter(
    key: &str,
    property: &Property,
    filter: &mut FilterSettings,
) -> Result<(), Problem> {
    match key {
        "Address.Accept" => filter.accept_addresses = rules(property)?,
        "Address.Reject" => filter.reject_addresses = rules(property)?,
        "ProxySizeMax" => filter.proxy_len_max = Some(count(property)?),
        "Category.Accept" => filter.accept_categories = words(property)?,
        "Category.AcceptUser" => {
            filter.accept_user_category = match property.number(0, "0, 1 or 2")? {
                0 => UserCategory::Not,
                1 => UserCategory::Name,
                2 => UserCategory::Underscored,
                _ => return Err(property.expected("0, 1 or 2")),
            };
        }
        "Identity.Accept" => {
            let words = words(property)?;
            let parsed = words.iter().map(|word| {
                let parsed: Result<Identity, _> = word.parse();
                parsed.map_err(|error| {
                    property.note(format_args!("`{word}` is no identity: {error}"))
                })
            });
            filter.accept_identities = parsed.collect::<Result<_, _>>()?;
        }
        "AdapterId.Accept" => filter.accept_adapter_ids = words(property)?,
        // What is left out would let more pass.
        _ => return Err(unknown(&format!("Filter.{key}"), property)),
    }
    Ok(())
}

/// Applies a property of forwarding. Returns false if there is no such property.
fn apply_forwarding(
    key: &str,
    property: &Property,
    forwarding: &mut ForwardingSettings,
) -> Result<bool, Problem> {
    match key {
        "ForwardContext" => forwarding.forward_context = property.flag()?,
        "Buffered" => forwarding.buffered = property.flag()?,
        "SleepTime" => {
            let milliseconds = property.number(i64::MIN, "milliseconds")?;
            let milliseconds = u64::try_from(milliseconds).unwrap_or(0);
            forwarding.sleep_time = Duration::from_millis(milliseconds);
        }
        "AlwaysBatch" => {
            forwarding.batching = match property.flag()? {
                true => Batching::Always,
                false => Batching::Off,
            };
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Notes a property of Glacier2 that Floe does not need as ignored.
fn ignored(
    name: &str,
    property: &Property,
    configuration: &mut Configuration,
) -> Result<(), Problem> {
    let reason = match name {
        _ if name.contains("Trace.") => "use --verbose, or FLOE_LOG=floe_gateway=debug",
        _ if name.contains(".ThreadPool.") => "there are no thread pools",
        _ if name.contains(".ACM") => "a floe.toml has [liveness] for that",
        _ if name.ends_with(".MessageSizeMax") => "Ice.MessageSizeMax holds for all adapters",
        _ => return Err(unknown(name, property)),
    };
    property.ignore(reason, configuration);
    Ok(())
}

fn unknown(name: &str, property: &Property) -> Problem {
    let names = known_properties::names(known_properties::OF_GLACIER2);
    let help = match nearest(name, &names) {
        Some(nearest) => format!("did you mean Glacier2.{nearest}?"),
        None => format!(
            "a Floe gateway has of Glacier2's properties {}",
            names.join(", ")
        ),
    };
    property.note(format_args!("unknown property: {help}"))
}

/// A time in seconds; none for 0.
fn seconds(property: &Property) -> Result<Option<Duration>, Problem> {
    let seconds = property.number(0, "seconds")?.unsigned_abs();
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

fn count(property: &Property) -> Result<usize, Problem> {
    let count = property.number(1, "a whole number from 1")?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn proxy(property: &Property) -> Result<Reference, Problem> {
    let parsed: Result<Reference, _> = property.value.parse();
    let proxy = parsed.map_err(|error| {
        property.note(format_args!("`{}` is no proxy: {error}", property.value))
    })?;
    match proxy.mode {
        InvocationMode::Twoway => Ok(proxy),
        _ => Err(property.note("expected a twoway proxy: the gateway waits for its answer")),
    }
}

fn rules(property: &Property) -> Result<Vec<AddressRule>, Problem> {
    let words = property.value.split_whitespace();
    let parsed = words.map(|word| {
        let parsed: Result<AddressRule, _> = word.parse();
        parsed.map_err(|error| property.note(error))
    });
    parsed.collect()
}

/// The words of a value. Quotes keep blanks together; a backslash takes the meaning from the quote behind it, within
/// quotes only from one of the same kind.
///
/// Source: Ice API reference, `getPropertyAsList`; observed, Ice 3.7.8.
fn words(property: &Property) -> Result<Vec<String>, Problem> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = property.value.chars().peekable();
    while let Some(char) = chars.next() {
        let is_quote = |char: &char| match quote {
            Some(open) => *char == open,
            None => matches!(char, '"' | '\''),
        };
        match char {
            '\\' => {
                let quoted = chars.next_if(is_quote);
                word.get_or_insert_default().push(quoted.unwrap_or(char));
            }
            char if is_quote(&char) => {
                quote = quote.xor(Some(char));
                word.get_or_insert_default();
            }
            char if quote.is_none() && char.is_whitespace() => words.extend(word.take()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(quote) => Err(property.note(format_args!("expected another {quote} at the end"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_within_quotes_are_as_in_ice() {
        let words = |value: &str| {
            let property = Property {
                name: "p".to_owned(),
                value: value.to_owned(),
                line: 1,
            };
            words(&property).ok()
        };
        for (value, expected) in [
            (r#"O'Reilly O'Neill"#, &["OReilly ONeill"][..]),
            (r#"cat/"a b" c"#, &["cat/a b", "c"]),
            (r#""a \"b\" c"/x y"#, &[r#"a "b" c/x"#, "y"]),
            (r#"a\"b c"#, &[r#"a"b"#, "c"]),
            (r#""a"b c"#, &["ab", "c"]),
            (r#""a\nb""#, &[r"a\nb"]),
            (r"'it\'s' x", &["it's", "x"]),
            (r#""a\'b" c"#, &[r"a\'b", "c"]),
        ] {
            let expected = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(words(value), Some(expected), "{value}");
        }
        assert_eq!(words(r#""a \" b"#), None);
    }
}
