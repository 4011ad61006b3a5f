//! Values of a table, as people write them: one text where a list may stand, and addresses.

#[cfg(feature = "dds")]
use std::net::IpAddr;
#[cfg(any(feature = "corba", feature = "soap"))]
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::Deserializer;
#[cfg(any(feature = "corba", feature = "soap", feature = "dds"))]
use serde::de::Error;

/// One text, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(crate) enum Texts {
    One(String),
    Several(Vec<String>),
}

impl From<Texts> for Vec<String> {
    fn from(texts: Texts) -> Self {
        match texts {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
        }
    }
}

/// Reads one path, or several.
pub(super) fn paths<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let texts: Vec<String> = Texts::deserialize(from)?.into();
    Ok(texts.into_iter().map(PathBuf::from).collect())
}

/// Reads one text, or several.
#[cfg(feature = "soap")]
pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Texts::deserialize(from).map(Into::into)
}

/// Reads an address with a port.
#[cfg(any(feature = "corba", feature = "soap"))]
pub(crate) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|_| {
        D::Error::custom(format_args!(
            "expected an IP address with a port, such as \"127.0.0.1:8070\", got {text:?}"
        ))
    })
}

/// Reads one IP address, or several.
#[cfg(feature = "dds")]
pub(crate) fn ip_addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<IpAddr>, D::Error> {
    let texts: Vec<String> = Texts::deserialize(from)?.into();
    let address = |text: &String| {
        text.parse().map_err(|_| {
            D::Error::custom(format_args!(
                "expected an IP address, such as \"127.0.0.1\", got {text:?}"
            ))
        })
    };
    texts.iter().map(address).collect()
}
