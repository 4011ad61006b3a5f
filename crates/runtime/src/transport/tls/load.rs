//! Loads certificates and keys from files.

use std::borrow::Cow;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsError;
use super::settings::{TlsFile, TlsIdentity};
use crate::regular_file;

/// A certificate with the chain of its signers, and its key.
pub(super) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

pub(super) fn identity(identity: &TlsIdentity) -> Result<Identity, TlsError> {
    match identity {
        TlsIdentity::Pem {
            certificates: file,
            key,
        } => Ok((certificates(file)?, private_key(key)?)),
        TlsIdentity::Pkcs12 { file, password } => pkcs12(file, password),
    }
}

/// Reads all certificates of a PEM file, at least one.
pub(super) fn certificates(file: &TlsFile) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const EXPECTED: &str = "certificates in PEM";
    let bytes = read(file, EXPECTED)?;
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if certificates.is_empty() => {
            Err(TlsError::file(file, EXPECTED, "it holds none"))
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(TlsError::file(file, EXPECTED, error)),
    }
}

pub(super) fn private_key(file: &TlsFile) -> Result<PrivateKeyDer<'static>, TlsError> {
    const EXPECTED: &str = "a private key in PEM";
    let bytes = read(file, EXPECTED)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        let is_encrypted = bytes
            .windows(ENCRYPTED.len())
            .any(|window| window == ENCRYPTED);
        match is_encrypted {
            true => TlsError::file(
                file,
                EXPECTED,
                "it is encrypted: put key and certificate into a PKCS#12 file, or decrypt it with \
                 `openssl pkey`",
            ),
            false => TlsError::file(file, EXPECTED, error),
        }
    })
}

/// Found in the first line of an encrypted key, or in the second line of an older format.
const ENCRYPTED: &[u8] = b"ENCRYPTED";

#[cfg(feature = "pkcs12")]
fn pkcs12(file: &TlsFile, password: &str) -> Result<Identity, TlsError> {
    use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
    use rustls::pki_types::PrivatePkcs8KeyDer;

    const EXPECTED: &str = "certificates and a key in PKCS#12";
    let bytes = read(file, EXPECTED)?;
    let store =
        KeyStore::from_pkcs12(&bytes, password, Pkcs12ImportPolicy::Relaxed).map_err(|error| {
            TlsError::file(file, EXPECTED, format!("{error}: is the password right?"))
        })?;
    let (_, chain) = store
        .private_key_chain()
        .ok_or_else(|| TlsError::file(file, EXPECTED, "it holds no key"))?;
    let certificates = chain.certs().iter();
    let certificates = certificates.map(|certificate| certificate.as_der().to_vec().into());
    let key = PrivatePkcs8KeyDer::from(chain.key().as_der().to_vec());
    Ok((certificates.collect(), key.into()))
}

#[cfg(not(feature = "pkcs12"))]
fn pkcs12(file: &TlsFile, _password: &str) -> Result<Identity, TlsError> {
    let expected = "a build of Floe with the cargo feature `pkcs12`";
    Err(TlsError::file(file, expected, "this build lacks it"))
}

/// Bytes of a file. The certificates of all public authorities take a quarter of a megabyte.
const FILE_LEN_MAX: usize = 16 << 20;

/// The bytes of a file; of text, those behind a byte order mark.
fn read<'a>(file: &'a TlsFile, expected: &'static str) -> Result<Cow<'a, [u8]>, TlsError> {
    Ok(match read_whole(file, expected)? {
        Cow::Borrowed(bytes) => Cow::Borrowed(regular_file::without_mark(bytes)),
        Cow::Owned(bytes) => Cow::Owned(regular_file::without_mark(&bytes).to_vec()),
    })
}

fn read_whole<'a>(file: &'a TlsFile, expected: &'static str) -> Result<Cow<'a, [u8]>, TlsError> {
    match file {
        TlsFile::Bytes(bytes) => Ok(bytes.into()),
        TlsFile::Path(path) => regular_file::read(path, FILE_LEN_MAX)
            .map(Cow::Owned)
            .map_err(|error| TlsError::file(file, expected, error)),
    }
}
