//! The CA that signs: its certificate and key, as they are read from their files.

use std::path::Path;
use std::time::{Duration, SystemTime};

use floe::regular_file;
use rcgen::{CertificateParams, Issuer, KeyPair, PublicKeyData};
use x509_parser::prelude::*;

use super::{CA, Made, Place, not_made, set_validity};
use crate::exit::{Exit, Failure};
use crate::log;

/// A CA that can sign.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// When its own certificate ends, after which no peer accepts those that it signed.
    until: SystemTime,
}

impl Authority {
    /// Reads `ca.pem` and `ca.key`.
    ///
    /// # Errors
    /// A file is missing or makes no sense, the certificate is not that of a CA or has expired, or the key is another one's.
    pub(super) fn read(place: &Place) -> Result<Self, Failure> {
        let (path, key_path) = (place.certificate(CA), place.key(CA));
        let certificate = read(&path)?;
        let key = read(&key_path)?;
        if std::fs::metadata(&key_path).is_ok_and(|it| regular_file::is_for_others(&it)) {
            let shown = key_path.display();
            log::say(format_args!(
                "warning: {shown} has the key of your CA, and other users of this computer can read it: chmod go= {shown}"
            ));
        }
        let wrong = |path: &Path, what: &str| {
            Failure::usage(format_args!("\"{}\": {what}", path.display()))
        };
        let key = KeyPair::from_pem(&key).map_err(|error| {
            wrong(
                &key_path,
                &format!("expected a private key in PEM: {error}"),
            )
        })?;
        let until = check(&certificate, &key).map_err(|what| wrong(&path, &what))?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key)
            .map_err(|error| wrong(&path, &format!("expected the certificate of a CA: {error}")))?;
        Ok(Self { issuer, until })
    }

    /// Signs a certificate for a new key, and for these days or as long as the CA is valid.
    pub(super) fn sign(&self, mut params: CertificateParams, days: u32) -> Result<Made, Failure> {
        let until = set_validity(&mut params, days, Some(self.until));
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(|error| not_made(&error))?;
        let certificate = params.signed_by(&key, &self.issuer);
        let certificate = certificate.map_err(|error| not_made(&error))?;
        Ok(Made {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            until,
        })
    }
}

/// Checks that a certificate is that of a CA with this key; returns when it ends.
fn check(certificate: &str, key: &KeyPair) -> Result<SystemTime, String> {
    let expected = "expected the certificate of a CA in PEM";
    let (_, pem) = parse_x509_pem(certificate.as_bytes()).map_err(|_| expected)?;
    let certificate = pem.parse_x509().map_err(|_| expected)?;
    if !certificate.is_ca() {
        return Err(format!("{expected}, got one that may sign no others"));
    }
    if certificate.public_key().subject_public_key.data.as_ref() != key.der_bytes() {
        return Err("the key beside it is that of another certificate".to_owned());
    }
    let until = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
    let until = SystemTime::UNIX_EPOCH + Duration::from_secs(until);
    match until > SystemTime::now() {
        true => Ok(until),
        false => Err("the CA has expired: make another one".to_owned()),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::new(
            Exit::Usage,
            format_args!("cannot read \"{}\": {error}", path.display()),
        )
        .help("`floe cert ca` makes a CA: ca.pem and ca.key; --dir names the folder in which they are")
    })
}
