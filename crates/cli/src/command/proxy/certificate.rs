//! Describes a certificate for people.

use serde_json::{Value as Json, json};
use x509_parser::prelude::*;
use x509_parser::time::ASN1Time;

/// The parts of a certificate in DER that tell whose it is; what cannot be read is said so.
pub(super) fn describe(der: &[u8]) -> Json {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return json!({"subject": null, "problem": "no X.509 certificate"});
    };
    let validity = certificate.validity();
    json!({
        "subject": certificate.subject().to_string(),
        "issuer": certificate.issuer().to_string(),
        "names": names(&certificate),
        "from": time(&validity.not_before),
        "until": time(&validity.not_after),
    })
}

/// For how many days the first certificate of a PEM file is good; below 0 once it has expired. None of what is no
/// certificate.
pub(crate) fn days_left(pem: &[u8]) -> Option<i64> {
    let (_, pem) = parse_x509_pem(pem).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let until = certificate.validity().not_after.timestamp();
    Some((until - ASN1Time::now().timestamp()).div_euclid(24 * 3600))
}

/// The hosts that it is for.
fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let names = extension.map_or(&[][..], |it| &it.value.general_names);
    names.iter().filter_map(name).collect()
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => Some(std::net::Ipv4Addr::from(<[u8; 4]>::try_from(*bytes).ok()?).to_string()),
            16 => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(*bytes).ok()?).to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A time in UTC, as RFC 3339 has it.
pub(crate) fn time(time: &ASN1Time) -> String {
    let time = time.to_datetime();
    let (year, month, day) = time.to_calendar_date();
    let (hour, minute, second) = time.to_hms();
    let month = u8::from(month);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_tells_whose_it_is_and_for_which_hosts() {
        let hosts = ["example.org".to_owned(), "127.0.0.1".to_owned()];
        let mut params = rcgen::CertificateParams::new(hosts).expect("host names");
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, "hub");
        params.not_after = rcgen::date_time_ymd(2031, 2, 3);
        let key = rcgen::KeyPair::generate().expect("random numbers");
        let certificate = params.self_signed(&key).expect("a certificate");
        let described = describe(certificate.der());
        assert_eq!(described["subject"], "CN=hub");
        assert_eq!(described["names"], json!(["example.org", "127.0.0.1"]));
        assert_eq!(described["until"], "2031-02-03T00:00:00Z");
    }

    #[test]
    fn what_is_no_certificate_is_said_so() {
        assert_eq!(describe(b"x")["problem"], "no X.509 certificate");
    }
}
