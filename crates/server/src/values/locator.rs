//! The proxy of a locator, which knows where objects are whose proxies have no endpoints.

use floe::Reference;

/// The kind of text that names a locator, for messages.
pub const WHAT: &str =
    "the proxy of a locator with its endpoints, such as IceGrid/Locator:tcp -h HOST -p 4061";

/// A proxy that says where the locator is.
///
/// # Errors
/// What was expected instead.
pub fn parse(text: &str) -> Result<Reference, String> {
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
