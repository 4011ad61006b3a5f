//! Finds out what is wrong with our own certificate: peers would tell us late, or in riddles.
//!
//! ```text
//! Certificate    SEQUENCE of TBSCertificate, ...
//! TBSCertificate SEQUENCE of version ([0], version 1 if absent), serial number, signature, issuer, validity, ...
//! Validity       SEQUENCE of two times: not before, not after
//! ```
//!
//! Source: RFC 5280, section 4.1.

use std::time::{SystemTime, UNIX_EPOCH};

use super::explain::{REMAKE, in_largest_unit};

/// Curve P-521 in a key or a certificate: object identifier 1.3.132.0.35. The provider of cryptography does not have it.
const P521: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];

/// Why a key cannot be used, given the error of the library, which does not say.
pub(super) fn unusable_key(key: &[u8], error: &str) -> String {
    let is_p521 = key.windows(P521.len()).any(|window| window == P521);
    let kind = match is_p521 {
        true => "the key is one on curve P-521, which is not supported",
        false => "the key is of a kind or a length that is not supported, or damaged",
    };
    format!(
        "{kind}: expected ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 bits or more ({error})"
    )
}

/// Says that a certificate has expired, or is not valid yet; nothing if it is valid, or says no time that is understood.
pub(super) fn complaint(certificate: &[u8], now: SystemTime) -> Option<String> {
    let parts = Parts::of(certificate)?;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if let Some(ago) = now.checked_sub(parts.not_after).filter(|ago| *ago > 0) {
        return Some(format!(
            "our own certificate expired {} ago (or this machine's clock is wrong), and peers that verify it will \
             refuse it: replace it by one that is valid now",
            in_largest_unit(ago)
        ));
    }
    let early = parts.not_before.checked_sub(now).filter(|it| *it > 0);
    early.map(|early| {
        format!(
            "our own certificate becomes valid only in {} (or this machine's clock is wrong), and peers that verify it \
             will refuse it until then",
            in_largest_unit(early)
        )
    })
}

/// Advice about a certificate that the library refuses as ours; nothing if another thing is wrong with it.
pub(super) fn version_complaint(certificate: &[u8]) -> Option<String> {
    let version = Parts::of(certificate)?.version;
    (version < 3).then(|| {
        format!("the certificate has version {version}: expected one of version 3, with extensions: {REMAKE}")
    })
}

/// The parts of a certificate that are looked at.
#[derive(Debug, PartialEq)]
struct Parts {
    version: u8,
    /// In seconds since 1970.
    not_before: u64,
    not_after: u64,
}

impl Parts {
    /// `None` if the certificate is something else.
    fn of(certificate: &[u8]) -> Option<Self> {
        let (outer, _) = element(certificate, SEQUENCE)?;
        let (body, _) = element(outer, SEQUENCE)?;
        let (version, rest) = match element(body, VERSION) {
            Some((version, rest)) => {
                let (number, _) = element(version, INTEGER)?;
                (number.last()?.checked_add(1)?, rest)
            }
            None => (1, body),
        };
        let (_, rest) = element(rest, INTEGER)?;
        let (_, rest) = element(rest, SEQUENCE)?;
        let (_, rest) = element(rest, SEQUENCE)?;
        let (validity, _) = element(rest, SEQUENCE)?;
        let (not_before, rest) = time(validity)?;
        let (not_after, _) = time(rest)?;
        Some(Self {
            version,
            not_before,
            not_after,
        })
    }
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// The content of an element with this tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (len, rest) = rest.split_first()?;
    let (len, rest) = match *len {
        len @ 0..=0x7f => (usize::from(len), rest),
        // A length of up to four bytes.
        count @ 0x81..=0x84 => {
            let (len, rest) = rest.split_at_checked(usize::from(count - 0x80))?;
            let len = len
                .iter()
                .fold(0, |len, byte| len << 8 | usize::from(*byte));
            (len, rest)
        }
        _ => return None,
    };
    (*first == tag).then(|| rest.split_at_checked(len))?
}

/// A time as `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`, in seconds since 1970, and what follows it.
fn time(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (text, rest, year_len) = match element(bytes, UTC_TIME) {
        Some((text, rest)) => (text, rest, 2),
        None => {
            let (text, rest) = element(bytes, GENERALIZED_TIME)?;
            (text, rest, 4)
        }
    };
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if text.len() != year_len + 10 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |at: usize, len: usize| text[at..at + len].parse::<u64>().ok();
    let year = match (year_len, number(0, year_len)?) {
        (2, year @ 50..) => 1900 + year,
        (2, year) => 2000 + year,
        (_, year) => year,
    };
    let part = |index: usize| number(year_len + 2 * index, 2);
    let days = days(year, part(0)?, part(1)?)?;
    let seconds = part(2)? * 3600 + part(3)? * 60 + part(4)?;
    Some((days * 86_400 + seconds, rest))
}

/// The days since 1970 of a date of the Gregorian calendar; a date before is day 0.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last one.
    let (year, month) = match month {
        3.. => (year, month - 3),
        _ => (year.checked_sub(1)?, month + 9),
    };
    let since_year_0 = year * 365 + year / 4 - year / 100 + year / 400;
    let in_year = (153 * month + 2) / 5 + day - 1;
    Some((since_year_0 + in_year).saturating_sub(719_468))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_become_days() {
        for (date, expected) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), 0),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2026, 11, 28), 20_785),
        ] {
            assert_eq!(days(date.0, date.1, date.2), Some(expected), "{date:?}");
        }
        assert_eq!(days(2026, 13, 1), None);
        assert_eq!(days(0, 1, 1), None);
    }

    #[test]
    fn a_certificate_that_is_not_valid_now_is_complained_about() {
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2024, 2, 29);
        params.not_after = rcgen::date_time_ymd(2061, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        let on = |days: u64| complaint(&der, UNIX_EPOCH + Duration::from_secs(days * 86_400));
        // 29 February 2024 is day 19,782, and 1 January 2061 is day 33,238.
        assert_eq!(on(19_782), None);
        assert_eq!(on(33_237), None);
        let early = on(19_779).expect("it is not valid yet");
        assert!(early.contains("becomes valid only in 3 days"), "{early}");
        let late = on(33_248).expect("it has expired");
        assert!(late.contains("expired 10 days ago"), "{late}");
    }

    #[test]
    fn whatever_is_no_certificate_has_no_parts() {
        let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let der = certificate.der();
        let parts = Parts::of(der).expect("it is a certificate");
        assert_eq!(parts.version, 3);
        assert!(parts.not_before < parts.not_after);
        for len in 0..der.len() {
            let _ = Parts::of(&der[..len]);
        }
        for at in 0..der.len() {
            let mut damaged = der.to_vec();
            damaged[at] ^= 0xff;
            let _ = Parts::of(&damaged);
        }
    }
}
