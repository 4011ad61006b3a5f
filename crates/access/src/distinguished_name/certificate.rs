//! The subject of a certificate as a distinguished name.

use x509_parser::der_parser::asn1_rs::{Any, FromDer, Tag, ToDer};
use x509_parser::prelude::X509Certificate;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::{Attribute, DistinguishedName, Value, kind_of};

impl DistinguishedName {
    /// The subject of a certificate in DER. `None` if the bytes are not a certificate, and in a build without the cargo
    /// feature `certificates`.
    pub fn of_certificate(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        Some(Self::of_name(certificate.subject()))
    }

    fn of_name(name: &X509Name<'_>) -> Self {
        let mut attributes: Vec<_> = name.iter_attributes().map(attribute).collect();
        // A certificate begins with the most general attribute.
        attributes.reverse();
        Self { attributes }
    }
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> Attribute {
    let value = attribute.attr_value();
    Attribute {
        kind: kind_of(&attribute.attr_type().to_id_string()),
        value: match text(value) {
            Some(text) => Value::Text(text),
            None => Value::Der(value.to_der_vec().unwrap_or_default()),
        },
    }
}

/// The text of a value, whichever string type it has. A certificate must not escape a rule because its text has another
/// type. As in OpenSSL, a `TeletexString` is read as Latin-1.
fn text(value: &Any<'_>) -> Option<String> {
    let bytes = value.as_bytes();
    match value.tag() {
        Tag::NumericString
        | Tag::PrintableString
        | Tag::Utf8String
        | Tag::Ia5String
        | Tag::VisibleString => String::from_utf8(bytes.to_vec()).ok(),
        Tag::TeletexString => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => {
            let (units, []) = bytes.as_chunks::<2>() else {
                return None;
            };
            let units: Vec<u16> = units.iter().copied().map(u16::from_be_bytes).collect();
            String::from_utf16(&units).ok()
        }
        Tag::UniversalString => {
            let (chars, []) = bytes.as_chunks::<4>() else {
                return None;
            };
            let chars = chars.iter().copied().map(u32::from_be_bytes);
            chars.map(char::from_u32).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dn(text: &str) -> DistinguishedName {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_subject_of_a_certificate_reads_as_openssl_writes_it() {
        use rcgen::{CertificateParams, DistinguishedName as Subject, DnType, KeyPair};
        let mut subject = Subject::new();
        subject.push(DnType::CountryName, "NO");
        subject.push(DnType::OrganizationName, "Acme, Inc.");
        subject.push(DnType::CustomDnType(vec![1, 2, 3, 4]), "own");
        subject.push(DnType::CommonName, "ann\n");
        let mut params = CertificateParams::default();
        params.distinguished_name = subject;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let name = DistinguishedName::of_certificate(certificate.der()).expect("a subject");
        assert_eq!(
            name.to_string(),
            "CN=ann\\0A,1.2.3.4=own,O=Acme\\, Inc.,C=NO"
        );
        assert!(name.has_all_of(&dn("O=\"Acme, Inc.\",C=NO")));
        assert_eq!(dn(&name.to_string()), name);
        assert_eq!(DistinguishedName::of_certificate(b"no certificate"), None);
    }

    #[test]
    fn a_rule_holds_for_each_type_of_string() {
        use rcgen::string::{BmpString, Ia5String, TeletexString, UniversalString};
        use rcgen::{CertificateParams, DistinguishedName as Subject, DnType, DnValue, KeyPair};

        let name = "Mallory";
        let values = [
            DnValue::BmpString(BmpString::try_from(name).expect("it fits")),
            DnValue::UniversalString(UniversalString::try_from(name).expect("it fits")),
            DnValue::TeletexString(TeletexString::try_from(name).expect("it fits")),
            DnValue::Ia5String(Ia5String::try_from(name).expect("it fits")),
            DnValue::Utf8String(name.to_owned()),
        ];
        let trust: crate::TrustOnly = "O=Acme; !CN=Mallory".parse().expect("entries");
        for value in values {
            let mut subject = Subject::new();
            subject.push(DnType::OrganizationName, "Acme");
            subject.push(DnType::CommonName, value.clone());
            let mut params = CertificateParams::default();
            params.distinguished_name = subject;
            let key = KeyPair::generate().expect("a key");
            let certificate = params.self_signed(&key).expect("a certificate");
            let name = DistinguishedName::of_certificate(certificate.der()).expect("a subject");
            assert_eq!(name, dn("CN=Mallory,O=Acme"), "{value:?}");
            assert!(!trust.trusts(Some(&name)), "{value:?}");
        }
    }
}
