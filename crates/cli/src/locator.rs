//! The locator, which knows where objects are whose proxies have no endpoints.

use std::sync::OnceLock;

use clap::Args;
use floe::Reference;
use floe_server::values::locator::parse;

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
