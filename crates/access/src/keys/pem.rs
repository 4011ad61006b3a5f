//! Public keys of a PEM file.

use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::{Key, PRIVATE, Read, ed25519, p256, rsa};

/// The keys of a file. After a block that is damaged, nothing is read.
pub(super) fn of_pem(file: &[u8]) -> Read {
    let mut keys = Vec::new();
    for (at, block) in Pem::iter_from_buffer(file).enumerate() {
        let is_damaged = block.is_err();
        let block =
            block.map_err(|_| "expected PEM with public keys, or a JSON web key set".to_owned());
        let key = block.and_then(|block| match block.label.as_str() {
            "PUBLIC KEY" => of_public_key(&block.contents),
            label if label.contains("PRIVATE KEY") => Err(PRIVATE.to_owned()),
            label => Err(format!("expected blocks PUBLIC KEY, got {label:?}")),
        });
        keys.push(key.map_err(|error| format!("block {}: {error}", at + 1)));
        if is_damaged {
            break;
        }
    }
    keys
}

/// A public key in the form that certificates contain.
fn of_public_key(der: &[u8]) -> Result<Key, String> {
    let parsed = SubjectPublicKeyInfo::from_der(der);
    let (_, info) = parsed.map_err(|_| "expected a public key in DER within PEM".to_owned())?;
    let bits = info.subject_public_key.data.as_ref();
    let parameters = info.algorithm.parameters.as_ref();
    let curve = parameters.and_then(|parameters| parameters.as_oid().ok());
    let curve = curve.map(|oid| oid.to_id_string());
    let kind = info.algorithm.algorithm.to_id_string();
    let material =
        match (kind.as_str(), curve.as_deref()) {
            (RSA, _) => {
                let parsed = info.parsed().ok();
                let Some(x509_parser::public_key::PublicKey::RSA(key)) = parsed else {
                    return Err("expected a modulus and an exponent in a key for RS256".to_owned());
                };
                rsa(without_zeros(key.modulus), without_zeros(key.exponent))?
            }
            (EC, Some(P256)) => p256(bits.to_vec())?,
            (ED25519, None) => ed25519(bits.to_vec())?,
            _ => return Err(
                "expected a key for RS256, ES256 (on P-256) or EdDSA (Ed25519), got another kind"
                    .to_owned(),
            ),
        };
    Ok(Key { id: None, material })
}

const RSA: &str = "1.2.840.113549.1.1.1";
const EC: &str = "1.2.840.10045.2.1";
const P256: &str = "1.2.840.10045.3.1.7";
const ED25519: &str = "1.3.101.112";
/// DER puts a zero in front of a number whose first bit is set.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
