//! Public keys that prove tokens: from a PEM file, or from a JSON web key set.

#[cfg(feature = "tokens")]
mod pem;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
#[cfg(feature = "tokens")]
use pem::of_pem;
#[cfg(feature = "tokens")]
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;

/// Public keys of an issuer of tokens.
///
/// Source: RFC 7517 (key sets), RFC 7518 and RFC 8037 (kinds of keys), RFC 7468 (PEM).
///
/// A key that cannot be used makes no other useless: it is among the [`problems`](Keys::problems).
#[derive(Debug, Clone)]
pub struct Keys {
    keys: Vec<Key>,
    problems: Vec<String>,
}

/// The keys of a file, and what is wrong with its other ones.
type Read = Vec<Result<Key, String>>;

/// One key, with the identifier by which tokens name it, if it has one.
#[derive(Clone)]
pub(crate) struct Key {
    id: Option<String>,
    material: Material,
}

/// A key of one algorithm. The key decides which algorithm verifies a signature, and never the token.
#[derive(Clone)]
#[cfg_attr(not(feature = "tokens"), expect(dead_code, reason = "no key verifies"))]
enum Material {
    /// RS256, with at least 2048 bits.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// ES256: a point, uncompressed.
    P256(Vec<u8>),
    /// EdDSA.
    Ed25519(Vec<u8>),
}

/// The largest size of a file of keys, in bytes.
pub const KEYS_FILE_MAX: usize = 256 * 1024;
/// The largest number of keys in one file. A token that names no key is tried with each of them.
pub const KEYS_MAX: usize = 16;

impl Keys {
    /// Reads a PEM file with public keys, or a JSON web key set. Keys of a set that are not for RS256, ES256 or EdDSA
    /// with Ed25519 are left out, and so is a key that cannot be used.
    ///
    /// # Errors
    /// The text describes what is wrong with the file, if there is no key that can be used.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        if !cfg!(feature = "tokens") {
            return Err(NO_TOKENS.to_owned());
        }
        if file.len() > KEYS_FILE_MAX {
            return Err(format!(
                "expected at most {KEYS_FILE_MAX} bytes of keys, got {}",
                file.len()
            ));
        }
        let begins_as_json = file.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        let read = match begins_as_json {
            true => of_set(file)?,
            false => of_pem(file),
        };
        let (mut keys, mut problems) = (Vec::new(), Vec::new());
        for key in read {
            match key {
                Ok(key) => keys.push(key),
                Err(problem) if problems.len() < KEYS_MAX => problems.push(problem),
                Err(_) => {}
            }
        }
        match keys.len() {
            0 => Err(problems.into_iter().next().unwrap_or_else(|| {
                "expected a public key for RS256, ES256 or EdDSA, got none".to_owned()
            })),
            1..=KEYS_MAX => Ok(Self { keys, problems }),
            len => Err(format!("expected at most {KEYS_MAX} keys, got {len}")),
        }
    }

    /// Describes the keys that were left out because they cannot be used.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The keys that a token may mean: keys with this identifier, and keys without one.
    pub(crate) fn candidates(&self, id: Option<&str>) -> impl Iterator<Item = &Key> {
        let may_be_meant = move |key: &&Key| match (id, key.id.as_deref()) {
            (Some(wanted), Some(own)) => wanted == own,
            _ => true,
        };
        self.keys.iter().filter(may_be_meant)
    }
}

impl Key {
    /// A build without this feature has no keys: see [`Keys::parse`].
    #[cfg(not(feature = "tokens"))]
    pub(crate) fn verifies(&self, _message: &[u8], _signature: &[u8]) -> bool {
        false
    }

    /// The name of its algorithm in a token.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self.material {
            Material::Rsa { .. } => "RS256",
            Material::P256(_) => "ES256",
            Material::Ed25519(_) => "EdDSA",
        }
    }

    /// Returns true if this key has signed the message.
    #[cfg(feature = "tokens")]
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &signature::RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Material::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature)
            }
            Material::Ed25519(key) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

#[cfg(not(feature = "tokens"))]
fn of_pem(_file: &[u8]) -> Read {
    vec![Err(NO_TOKENS.to_owned())]
}

const NO_TOKENS: &str = "this build verifies no tokens: build it with the cargo feature `tls`";
const PRIVATE: &str = "this is a private key: give the public key, and keep the private one with the issuer of tokens";

/// The members of a key set that are used here.
#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct WebKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    /// Only private keys have this member.
    d: Option<serde::de::IgnoredAny>,
}

fn of_set(file: &[u8]) -> Result<Read, String> {
    // An error of serde may quote the text.
    let place = |error: serde_json::Error| {
        format!(
            "expected a JSON web key set, which this is not in line {}",
            error.line()
        )
    };
    let set: Set = serde_json::from_slice(file).map_err(place)?;
    let keys = set.keys.into_iter().enumerate();
    let keys = keys.filter_map(|(at, key)| {
        // An error of serde may quote the value.
        let key: Result<WebKey, _> = serde_json::from_value(key).map_err(|_| {
            "expected an object with a text \"kty\", and texts in its other members".to_owned()
        });
        let read = key.and_then(|key| of_web_key(&key)).transpose()?;
        Some(read.map_err(|error| format!("key {}: {error}", at + 1)))
    });
    Ok(keys.collect())
}

/// Reads a key of a set. `None` if it is for another algorithm or use.
fn of_web_key(key: &WebKey) -> Result<Option<Key>, String> {
    if key.d.is_some() {
        return Err(PRIVATE.to_owned());
    }
    if key
        .purpose
        .as_deref()
        .is_some_and(|purpose| purpose != "sig")
    {
        return Ok(None);
    }
    let material = match (key.kty.as_str(), key.crv.as_deref()) {
        ("RSA", _) => rsa(&number("n", &key.n)?, &number("e", &key.e)?)?,
        ("EC", Some("P-256")) => {
            let point = [vec![4], number("x", &key.x)?, number("y", &key.y)?].concat();
            p256(point)?
        }
        ("OKP", Some("Ed25519")) => ed25519(number("x", &key.x)?)?,
        _ => return Ok(None),
    };
    let id = key.kid.clone();
    let key_of = Key { id, material };
    let is_meant = key
        .alg
        .as_deref()
        .is_none_or(|alg| alg == key_of.algorithm());
    Ok(is_meant.then_some(key_of))
}

fn number(name: &str, text: &Option<String>) -> Result<Vec<u8>, String> {
    let text = text
        .as_deref()
        .ok_or_else(|| format!("expected a member \"{name}\""))?;
    let decoded = URL_SAFE_NO_PAD.decode(text);
    decoded.map_err(|_| format!("expected base64url without padding in \"{name}\""))
}

fn rsa(n: &[u8], e: &[u8]) -> Result<Material, String> {
    let bits = n.len() * 8 - n.first().map_or(0, |byte| byte.leading_zeros() as usize);
    if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) || !(1..=8).contains(&e.len()) {
        return Err(format!(
            "expected an RSA key of {RSA_BITS_MIN} to {RSA_BITS_MAX} bits, got {bits}"
        ));
    }
    Ok(Material::Rsa {
        n: n.to_vec(),
        e: e.to_vec(),
    })
}

/// The smallest RSA key, because shorter ones can be broken.
const RSA_BITS_MIN: usize = 2048;
/// The largest RSA key, because the time of a check grows with the square of the bits.
const RSA_BITS_MAX: usize = 8192;

fn p256(point: Vec<u8>) -> Result<Material, String> {
    match point.len() == 65 && point[0] == 4 {
        true => Ok(Material::P256(point)),
        false => Err("expected an uncompressed point of 65 bytes in a key for ES256".to_owned()),
    }
}

fn ed25519(key: Vec<u8>) -> Result<Material, String> {
    match key.len() {
        32 => Ok(Material::Ed25519(key)),
        len => Err(format!("expected 32 bytes in a key for EdDSA, got {len}")),
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "tokens"))]
mod tests {
    use super::*;

    const PEM: &[u8] = include_bytes!("../tests/tokens/keys.pem");
    const SET: &[u8] = include_bytes!("../tests/tokens/keys.json");

    fn algorithms(keys: &Keys) -> Vec<&'static str> {
        keys.keys.iter().map(Key::algorithm).collect()
    }

    #[test]
    fn a_pem_file_may_have_a_key_of_each_kind() {
        let keys = Keys::parse(PEM).expect("three keys");
        assert_eq!(algorithms(&keys), ["RS256", "ES256", "EdDSA"]);
    }

    #[test]
    fn of_a_key_set_those_for_other_things_are_left_out() {
        let keys = Keys::parse(SET).expect("three keys among others");
        assert_eq!(algorithms(&keys), ["RS256", "ES256", "EdDSA"]);
        let named: Vec<_> = keys.candidates(Some("e1")).map(Key::algorithm).collect();
        assert_eq!(named, ["ES256"]);
        assert_eq!(keys.candidates(Some("other")).count(), 0);
        assert_eq!(keys.candidates(None).count(), 3);
    }

    #[test]
    fn private_keys_are_refused_and_told_of_without_their_text() {
        let set = br#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA","d":"SECRET"}]}"#;
        let pem = b"-----BEGIN PRIVATE KEY-----\nU0VDUkVU\n-----END PRIVATE KEY-----\n";
        for file in [&set[..], &pem[..]] {
            let error = Keys::parse(file).expect_err("it is private");
            assert!(
                error.contains("private key") && !error.contains("SECRET"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_key_that_cannot_be_used_is_told_of_and_no_other_is_lost() {
        let set = format!(
            r#"{{"keys":[{{"kty":7}},{ED},{{"kty":"RSA","n":"AQAB","e":"AQAB"}},{{"kty":"OKP","crv":"Ed25519","x":"A","d":"SECRET"}}]}}"#
        );
        let keys = Keys::parse(set.as_bytes()).expect("one of them is good");
        assert_eq!(algorithms(&keys), ["EdDSA"]);
        let told = keys.problems().join("; ");
        for part in [
            "key 1: expected an object",
            "key 3: expected an RSA key",
            "key 4: this is a private key",
        ] {
            assert!(told.contains(part), "{told}");
        }
        assert!(!told.contains("SECRET"), "{told}");
        // A file that was cut off within its last key.
        let cut = &PEM[..PEM.len() - 60];
        let keys = Keys::parse(cut).expect("two keys");
        assert_eq!((algorithms(&keys).len(), keys.problems().len()), (2, 1));
        let foreign = [
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            PEM,
        ]
        .concat();
        let keys = Keys::parse(&foreign).expect("three keys");
        assert_eq!((algorithms(&keys).len(), keys.problems().len()), (3, 1));
    }

    #[test]
    fn files_without_a_key_are_refused() {
        let many = format!("{{\"keys\":[{}]}}", vec![ED; KEYS_MAX + 1].join(","));
        let long = vec![b' '; KEYS_FILE_MAX + 1];
        for wrong in [
            "",
            "{}",
            "{\"keys\":[]}",
            "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}",
            "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
            "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}]}",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            &many,
        ] {
            assert!(Keys::parse(wrong.as_bytes()).is_err(), "{wrong:.60}");
        }
        assert!(Keys::parse(&long).is_err());
    }

    const ED: &str =
        r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
}
