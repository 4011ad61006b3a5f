//! Networks of addresses: who may call, and who is called.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::Deserialize;

use crate::settings::value::Texts;

/// Networks of addresses. In settings each is an address or a network, such as `10.1.0.0/16` or `fd00::/8`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Texts")]
pub struct Networks {
    networks: Vec<IpNet>,
}

/// Text that is no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotANetwork {
    text: String,
    /// The network without the bits beyond its prefix, if that is what is wrong.
    meant: Option<IpNet>,
}

impl Networks {
    /// The addresses of this machine alone.
    pub fn loopback() -> Self {
        let networks = ["127.0.0.0/8", "::1/128"];
        Self {
            networks: networks
                .map(|it| it.parse().expect("they are networks"))
                .to_vec(),
        }
    }

    /// True if an address is in one of them. An IPv4 address that is written as one of IPv6 is the IPv4 address.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|it| it.contains(&address))
    }
}

impl TryFrom<Texts> for Networks {
    type Error = NotANetwork;

    fn try_from(texts: Texts) -> Result<Self, NotANetwork> {
        Vec::from(texts).try_into()
    }
}

impl TryFrom<Vec<String>> for Networks {
    type Error = NotANetwork;

    fn try_from(texts: Vec<String>) -> Result<Self, NotANetwork> {
        let networks = texts.iter().map(|text| network(text));
        Ok(Self {
            networks: networks.collect::<Result<_, _>>()?,
        })
    }
}

fn network(text: &str) -> Result<IpNet, NotANetwork> {
    let no_network = |meant| NotANetwork {
        text: text.to_owned(),
        meant,
    };
    let network = match IpAddr::from_str(text) {
        Ok(address) => IpNet::from(address.to_canonical()),
        Err(_) => IpNet::from_str(text).map_err(|_| no_network(None))?,
    };
    match network == network.trunc() {
        true => Ok(network),
        false => Err(no_network(Some(network.trunc()))),
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for network in &self.networks {
            write!(f, "{separator}{network}")?;
            separator = ", ";
        }
        Ok(())
    }
}

impl fmt::Display for NotANetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.meant {
            Some(meant) => write!(
                f,
                "{text:?} has bits beyond its prefix: did you mean \"{meant}\"?"
            ),
            None => write!(
                f,
                "expected an address such as 10.0.0.7 or a network such as 10.0.0.0/8, got {text:?}"
            ),
        }
    }
}

impl std::error::Error for NotANetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_judged_as_what_it_leads_to() {
        let loopback = Networks::loopback();
        for (address, is_in) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("0.0.0.0", false),
            ("::", false),
            ("10.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("169.254.169.254", false),
            ("fe80::1", false),
        ] {
            let parsed = address.parse().expect("an address");
            assert_eq!(loopback.contain(parsed), is_in, "{address}");
        }
    }

    #[test]
    fn settings_name_addresses_and_networks() {
        let texts = ["10.0.0.7", "192.168.0.0/16"].map(str::to_owned).to_vec();
        let networks = Networks::try_from(texts).expect("they are networks");
        assert!(networks.contain("192.168.3.4".parse().expect("an address")));
        assert!(!networks.contain("10.0.0.8".parse().expect("an address")));
        assert_eq!(networks.to_string(), "10.0.0.7/32, 192.168.0.0/16");
        let error = Networks::try_from(vec!["localhost".to_owned()]).expect_err("a name");
        assert!(error.to_string().contains("\"localhost\""), "{error}");
        let error = Networks::try_from(vec!["10.1.2.3/16".to_owned()]).expect_err("it has bits");
        assert!(error.to_string().contains("\"10.1.0.0/16\""), "{error}");
    }
}
