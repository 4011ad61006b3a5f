//! The subject of a certificate as a distinguished name.

use x509_parser::der_parser::asn1_rs::{FromDer, ToDer};
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
    let value = match attribute.as_str() {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Der(attribute.attr_value().to_der_vec().unwrap_or_default()),
    };
    Attribute {
        kind: kind_of(&attribute.attr_type().to_id_string()),
        value,
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
}
