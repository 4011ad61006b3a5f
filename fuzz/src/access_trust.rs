//! `TrustOnly` texts, distinguished names, and certificates.

use floe_access::{DistinguishedName, TrustOnly};

/// Reads `input` as a `TrustOnly`, as a distinguished name and as a certificate.
///
/// Whatever the bytes are, this must end without a panic. A name reads as the same name when it is written again.
pub(crate) fn run(input: &[u8]) {
    if let Some(subject) = DistinguishedName::of_certificate(input)
        && !subject.is_empty()
    {
        assert_eq!(subject.to_string().parse(), Ok(subject));
    }
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let name = text.parse::<DistinguishedName>();
    if let Ok(name) = &name {
        assert!(name.has_all_of(name));
        let written = name.to_string();
        // Escapes may make it longer than what is read.
        if written.len() <= floe_access::DN_LEN_MAX {
            assert_eq!(written.parse().as_ref(), Ok(name), "{written}");
        }
    }
    if let Ok(trust) = text.parse::<TrustOnly>() {
        assert!(!trust.trusts(None));
        let _ = trust.trusts(name.as_ref().ok());
    }
}
