//! Which certificates are trusted, in the syntax of `IceSSL.TrustOnly`.

use std::str::FromStr;

use crate::distinguished_name::{DN_LEN_MAX, DistinguishedName};

/// Which certificates are trusted, by their subjects: `O=ZeroC,OU=Lab; !CN=Mallory`.
///
/// Entries are separated by semicolons. An entry matches a subject that has all attributes of the entry, in any order.
/// An entry that begins with `!` rejects, and takes precedence over entries that accept. If there are only rejecting
/// entries, each subject is accepted that none of them rejects. Attributes are written as in RFC 2253.
///
/// Source: Ice manual, "IceSSL Properties", `IceSSL.TrustOnly`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustOnly {
    accepted: Vec<DistinguishedName>,
    rejected: Vec<DistinguishedName>,
}

/// The largest number of entries of one text. Each new connection is compared with all of them.
pub const ENTRIES_MAX: usize = 256;

impl TrustOnly {
    /// Returns true if a certificate with this subject is trusted. A peer without a certificate is not.
    pub fn trusts(&self, subject: Option<&DistinguishedName>) -> bool {
        let Some(subject) = subject else {
            return false;
        };
        let is_one_of =
            |entries: &[DistinguishedName]| entries.iter().any(|entry| subject.has_all_of(entry));
        !is_one_of(&self.rejected) && (self.accepted.is_empty() || is_one_of(&self.accepted))
    }
}

impl FromStr for TrustOnly {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > DN_LEN_MAX {
            return Err(format!(
                "expected at most {DN_LEN_MAX} bytes, got {}",
                text.len()
            ));
        }
        let mut trust = Self {
            accepted: Vec::new(),
            rejected: Vec::new(),
        };
        let entries = entries(text);
        if entries.len() > ENTRIES_MAX {
            return Err(format!(
                "expected at most {ENTRIES_MAX} entries, got {}",
                entries.len()
            ));
        }
        for entry in entries {
            match entry.strip_prefix('!') {
                Some(entry) => trust.rejected.push(entry.parse()?),
                None => trust.accepted.push(entry.parse()?),
            }
        }
        match trust.accepted.is_empty() && trust.rejected.is_empty() {
            true => Err("expected subjects, such as \"O=ZeroC; !CN=Mallory\", got none".to_owned()),
            false => Ok(trust),
        }
    }
}

/// The entries of a text. Semicolons within quotes or behind a backslash do not separate entries.
fn entries(text: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let separates = |c: char| {
        let is_plain = !std::mem::take(&mut is_escaped);
        match c {
            '\\' if is_plain => is_escaped = true,
            '"' if is_plain => is_quoted = !is_quoted,
            _ => {}
        }
        c == ';' && is_plain && !is_quoted
    };
    let parts = text.split(separates).map(str::trim_start);
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trusts(trust: &str, subject: &str) -> bool {
        let trust: TrustOnly = trust
            .parse()
            .unwrap_or_else(|error| panic!("{trust}: {error}"));
        let subject: DistinguishedName = subject.parse().expect("a subject");
        trust.trusts(Some(&subject))
    }

    #[test]
    fn an_entry_accepts_each_subject_with_all_its_attributes() {
        let trust = "O=Acme\\, Inc.,OU=Sales;O=\"Acme, Inc.\",OU=Marketing";
        assert!(trusts(trust, "CN=ann,OU=Sales,O=Acme\\, Inc."));
        assert!(trusts(trust, "CN=bob,OU=Marketing,O=Acme\\, Inc."));
        assert!(!trusts(trust, "CN=eve,OU=Lab,O=Acme\\, Inc."));
        assert!(!trusts(trust, "CN=eve,OU=Sales,O=Other"));
    }

    #[test]
    fn a_rejection_goes_before_any_acceptance_wherever_it_stands() {
        for trust in ["!O=Acme,CN=Mallory;O=Acme", "O=Acme; !O=Acme,CN=Mallory;"] {
            assert!(trusts(trust, "CN=ann,O=Acme"), "{trust}");
            assert!(!trusts(trust, "CN=Mallory,O=Acme"), "{trust}");
            assert!(!trusts(trust, "CN=Mallory,O=Other"), "{trust}");
        }
    }

    #[test]
    fn rejections_alone_accept_all_others() {
        assert!(trusts("!CN=Mallory", "CN=ann"));
        assert!(!trusts("!CN=Mallory", "CN=Mallory,O=Acme"));
    }

    #[test]
    fn without_a_certificate_there_is_no_trust() {
        for trust in ["O=Acme", "!CN=Mallory"] {
            assert!(
                !trust.parse::<TrustOnly>().expect("entries").trusts(None),
                "{trust}"
            );
        }
    }

    #[test]
    fn semicolons_in_values_do_not_separate() {
        assert!(trusts("O=\"a;b\";O=c", "O=a\\;b"));
        assert!(trusts("O=a\\;b;O=c", "O=a\\;b"));
        assert!(!trusts("O=a\\\\;O=b", "O=a\\;O\\=b"));
        assert!(trusts("O=\"a\\\";b\"", "O=a\\\"\\;b"));
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        let many = "CN=a;".repeat(ENTRIES_MAX + 1);
        let long = format!("CN={}", "a".repeat(DN_LEN_MAX));
        for wrong in ["", " ; ;", "!", "ann", &many, &long] {
            assert!(wrong.parse::<TrustOnly>().is_err(), "{:.20}", wrong);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[!;=,\"\\\\#a-cO ]{0,30}") {
            let _ = text.parse::<TrustOnly>();
        }
    }
}
