//! Who a certificate is for: the subject, which access rules can name.

use clap::Args;
use rcgen::{DistinguishedName, DnType};

/// The organization in the subject of a certificate.
#[derive(Debug, Args)]
pub(super) struct Organization {
    /// The organization, O in the subject: access rules can name it
    #[arg(long, value_name = "NAME", value_parser = parse_part)]
    organization: Option<String>,

    /// The unit of the organization, OU in the subject
    #[arg(long, value_name = "NAME", value_parser = parse_part)]
    unit: Option<String>,
}

impl Organization {
    /// The subject of someone in this organization.
    pub(super) fn subject(&self, name: &str) -> DistinguishedName {
        let mut subject = DistinguishedName::new();
        let parts = [
            (DnType::OrganizationName, &self.organization),
            (DnType::OrganizationalUnitName, &self.unit),
        ];
        for (kind, value) in parts {
            if let Some(value) = value {
                subject.push(kind, value.as_str());
            }
        }
        subject.push(DnType::CommonName, name);
        subject
    }
}

/// A part of a subject.
///
/// # Errors
/// It is empty, too long, or has control characters.
///
/// Source: RFC 5280, appendix A.1 (`ub-common-name`, `ub-organization-name`).
pub(super) fn parse_part(text: &str) -> Result<String, String> {
    let len = text.chars().count();
    if text.trim().is_empty() || len > PART_MAX || text.contains(char::is_control) {
        return Err(format!(
            "expected 1 to {PART_MAX} characters, none of them a control character, got {text:?}"
        ));
    }
    Ok(text.to_owned())
}

/// A name that is a part of a subject and the name of files.
///
/// # Errors
/// It has other characters than letters, digits and `.-_@`, begins with one of these, or is the name of the CA's files.
pub(super) fn parse_name(text: &str) -> Result<String, String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || ".-_@".contains(char);
    let begins_well = text.starts_with(|char: char| char.is_ascii_alphanumeric());
    if !begins_well || text.len() > PART_MAX || !text.chars().all(is_plain) {
        return Err(format!(
            "expected a name for files: 1 to {PART_MAX} letters, digits and .-_@, the first a letter or digit; got {text:?}"
        ));
    }
    match text.eq_ignore_ascii_case(super::CA) {
        true => Err("this is the name of the CA's own files".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// In characters.
const PART_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_files_leads_to_no_other_folder() {
        for good in ["ann", "spectrometer-3", "ann@example.org", "7.b_c"] {
            assert_eq!(parse_name(good).as_deref(), Ok(good));
        }
        let long = "x".repeat(65);
        for bad in [
            "", ".", "..", "../x", "a/b", "a\\b", "-x", "a b", "ü", "ca", "CA", &long,
        ] {
            assert!(parse_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_part_of_a_subject_is_a_line_of_text() {
        for good in ["Acme, Inc.", "Überlingen", "x"] {
            assert_eq!(parse_part(good).as_deref(), Ok(good));
        }
        for bad in ["", " ", "a\nb", &"ü".repeat(65)] {
            assert!(parse_part(bad).is_err(), "{bad:?}");
        }
    }
}
