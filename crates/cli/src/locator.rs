//! The locator, which knows where objects are whose proxies have no endpoints.

use std::sync::OnceLock;

use clap::Args;
use floe::Reference;

/// The locator that all communicators of this process ask.
#[derive(Debug, Args)]
pub(crate) struct LocatorArgument {
    /// The locator that finds objects whose proxies have no endpoints, such as `IceGrid/Locator:tcp -h HOST -p
    /// 4061`
    #[arg(long, global = true, value_name = "PROXY", value_parser = parse, help_heading = crate::COMMON, hide_short_help = true, hide_long_help = true)]
    locator: Option<Reference>,
}

static LOCATOR: OnceLock<Reference> = OnceLock::new();

impl LocatorArgument {
    /// Has it asked from now on.
    pub(crate) fn set(self) {
        if let Some(locator) = self.locator {
            LOCATOR.get_or_init(|| locator);
        }
    }
}

/// The locator, if the arguments named one.
pub(crate) fn named() -> Option<Reference> {
    LOCATOR.get().cloned()
}

/// The kind of text that names a locator, for messages.
pub(crate) const WHAT: &str =
    "the proxy of a locator with its endpoints, such as IceGrid/Locator:tcp -h HOST -p 4061";

/// A proxy that says where the locator is.
///
/// # Errors
/// What was expected instead.
pub(crate) fn parse(text: &str) -> Result<Reference, String> {
    match text.parse::<Reference>() {
        Ok(reference) if !reference.endpoints().is_empty() => Ok(reference),
        Ok(_) => Err(format!("expected {WHAT}, got `{text}`")),
        Err(error) => Err(format!("expected {WHAT}, got `{text}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locator_says_where_it_is() {
        assert!(parse("IceGrid/Locator:tcp -h localhost -p 4061").is_ok());
        for wrong in ["IceGrid/Locator", "IceGrid/Locator @ a", ":tcp -p 1", ""] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(&format!("got `{wrong}`")), "{error}");
        }
    }
}
