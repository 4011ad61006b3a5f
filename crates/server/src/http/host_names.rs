//! The host names under which the metrics port answers.
//!
//! A web page can give its own name the address of this computer (DNS rebinding). Its script then reads this port as if it were
//! the page's own server, but its requests name the page's host.

use std::net::IpAddr;

/// The names of this server, besides IP addresses and `localhost`.
#[derive(Debug)]
pub(crate) struct HostNames(Vec<String>);

impl HostNames {
    /// These names, and those that the system has.
    pub(crate) fn new(names: &[String]) -> Self {
        let mut all: Vec<String> = names.iter().map(|name| normal(name)).collect();
        all.extend(own_names());
        Self(all)
    }

    /// Returns true if the host of a request, with or without a port, is this server.
    pub(crate) fn has(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else {
            return true;
        };
        let name = normal(name);
        name == "localhost" || name.ends_with(".localhost") || self.0.contains(&name)
    }
}

/// The name in a `Host`, without its port; `None` if it is an IP address. A page cannot have an address for its name. If what
/// follows is no port, all of it is the name.
fn name_of(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']').unwrap_or(("", host)),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    if !rest.is_empty() && !rest.strip_prefix(':').is_some_and(is_port) {
        return Some(host);
    }
    name.parse::<IpAddr>().is_err().then_some(name)
}

/// Names differ neither by case nor by the dot of the root.
fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The name of this computer, its first part, and that part in the network of its neighbours.
fn own_names() -> Vec<String> {
    let Some(name) = system_name().map(|name| normal(&name)) else {
        return Vec::new();
    };
    let first = name.split('.').next().unwrap_or_default().to_owned();
    let local = format!("{first}.local");
    let names = [name, first, local];
    names
        .into_iter()
        .filter(|name| !name.is_empty() && !name.starts_with('.'))
        .collect()
}

#[cfg(unix)]
fn system_name() -> Option<String> {
    let system = rustix::system::uname();
    system.nodename().to_str().ok().map(str::to_owned)
}

#[cfg(not(unix))]
fn system_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_under_its_names_and_addresses() {
        let hosts = HostNames(vec!["hub.example.org".to_owned()]);
        for own in [
            "127.0.0.1",
            "192.0.2.7:9464",
            "[::1]",
            "[::1]:9464",
            "localhost",
            "LocalHost.:9464",
            "a.localhost:9464",
            "Hub.Example.org:9464",
        ] {
            assert!(hosts.has(own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "hub.example.org.evil.example:9464",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[evil.example]:9464",
            "[::1",
            "notlocalhost",
        ] {
            assert!(!hosts.has(foreign), "{foreign}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_name_of_the_system_is_one() {
        let name = system_name().expect("it has one");
        assert!(HostNames::new(&[]).has(&format!("{name}:9464")), "{name}");
    }
}
