//! Loaded certificates and trust in the form that rustls takes. A reload replaces them as a whole.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, UNIX_EPOCH};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};

use super::TlsError;
use super::handshake_permits::HandshakePermits;
use super::load::{self, Identity};
use super::own_certificate;
use super::settings::{ClientCertificates, TlsFile, TlsSettings};

/// Loaded certificates and trust of a communicator. Clones share them.
#[derive(Clone)]
pub struct Tls {
    inner: Arc<TlsCore>,
}

struct TlsCore {
    settings: TlsSettings,
    handshake_permits: HandshakePermits,
    /// Replaced by a reload; read when a connection is made.
    loaded: RwLock<Loaded>,
}

/// The configurations that the settings allow. A program that only connects needs no identity, and a program that only
/// listens may need no trusted CA.
struct Loaded {
    client: Result<Arc<ClientConfig>, Arc<str>>,
    server: Result<Arc<ServerConfig>, Arc<str>>,
}

impl Tls {
    /// Loads the files that the settings name.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read or has the wrong content, or if a key does not match its certificate.
    pub fn load(settings: TlsSettings) -> Result<Self, TlsError> {
        let loaded = RwLock::new(Loaded::new(&settings)?);
        Ok(Self {
            inner: Arc::new(TlsCore {
                settings,
                handshake_permits: HandshakePermits::new(),
                loaded,
            }),
        })
    }

    /// Reads all files again. New connections use their content; open ones stay unchanged.
    ///
    /// # Errors
    /// As [`Tls::load`]; then the earlier content stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let loaded = Loaded::new(&self.inner.settings)?;
        *self
            .inner
            .loaded
            .write()
            .unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    pub(super) fn client_config(&self) -> Result<Arc<ClientConfig>, Arc<str>> {
        self.loaded().client.clone()
    }

    pub(super) fn server_config(&self) -> Result<Arc<ServerConfig>, Arc<str>> {
        self.loaded().server.clone()
    }

    pub(super) fn handshake_permits(&self) -> &HandshakePermits {
        &self.inner.handshake_permits
    }

    fn loaded(&self) -> std::sync::RwLockReadGuard<'_, Loaded> {
        self.inner
            .loaded
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.inner.settings).finish()
    }
}

impl Loaded {
    fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let identity = settings.identity.as_ref().map(load::identity).transpose()?;
        if let Some(identity @ (chain, key)) = &identity {
            // Without a trusted CA neither side may be usable. A wrong key must be reported in any case.
            CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider())
                .map_err(|error| TlsError::identity(identity, error))?;
            // Only peers refuse it, each by itself: said once, by the side that has it.
            // By the clock by which certificates are judged.
            let now = UNIX_EPOCH + Duration::from_secs(UnixTime::now().as_secs());
            let complaint = chain
                .first()
                .and_then(|own| own_certificate::complaint(own, now));
            if let Some(complaint) = complaint {
                tracing::warn!("{complaint}");
            }
        }
        let roots = Arc::new(roots(&settings.ca_files)?);
        Ok(Self {
            client: client_config(settings, identity.as_ref(), &roots)?,
            server: server_config(settings, identity, &roots)?,
        })
    }
}

type Config<T> = Result<Result<Arc<T>, Arc<str>>, TlsError>;

fn client_config(
    settings: &TlsSettings,
    identity: Option<&Identity>,
    roots: &Arc<RootCertStore>,
) -> Config<ClientConfig> {
    let provider = provider();
    let webpki = match settings.verify_server {
        true if roots.is_empty() => {
            return Ok(Err(
                "no CA is trusted to sign the server's certificate: set `TlsSettings::ca_files`"
                    .into(),
            ));
        }
        true => Some(
            WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
                .build()
                .map_err(TlsError::new)?,
        ),
        false => None,
    };
    let verifier = Arc::new(ServerVerifier {
        webpki,
        check_host: settings.check_host,
        provider: provider.clone(),
    });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::new)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(Ok(Arc::new(match identity {
        None => builder.with_no_client_auth(),
        Some(identity @ (chain, key)) => builder
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| TlsError::identity(identity, error))?,
    })))
}

fn server_config(
    settings: &TlsSettings,
    identity: Option<Identity>,
    roots: &Arc<RootCertStore>,
) -> Config<ServerConfig> {
    let Some(identity) = identity else {
        let reason = "a server needs a certificate and its key: set `TlsSettings::identity`";
        return Ok(Err(reason.into()));
    };
    let asks = settings.client_certificates != ClientCertificates::NotAsked;
    if asks && roots.is_empty() {
        let reason = "no CA is trusted to sign the certificates of clients: set \
                      `TlsSettings::ca_files`, or `client_certificates` to `NotAsked`";
        return Ok(Err(reason.into()));
    }
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::new)?;
    let builder = match asks {
        false => builder.with_no_client_auth(),
        true => builder.with_client_cert_verifier(client_verifier(settings, roots)?),
    };
    let (chain, key) = (identity.0.clone(), identity.1.clone_key());
    let config = builder
        .with_single_cert(chain, key)
        .map_err(|error| TlsError::identity(&identity, error))?;
    Ok(Ok(Arc::new(config)))
}

fn client_verifier(
    settings: &TlsSettings,
    roots: &Arc<RootCertStore>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let builder = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider());
    let builder = match settings.client_certificates {
        ClientCertificates::Required => builder,
        ClientCertificates::Verified | ClientCertificates::NotAsked => {
            builder.allow_unauthenticated()
        }
    };
    builder.build().map_err(TlsError::new)
}

pub(super) fn roots(files: &[TlsFile]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for file in files {
        for certificate in load::certificates(file)? {
            roots
                .add(certificate)
                .map_err(|error| TlsError::file(file, "certificates of CAs", error))?;
        }
    }
    Ok(roots)
}

/// Returns the only provider of cryptography: docs/adr/0016-tls-is-rustls-with-ring.md.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Verifies servers as strictly as the settings ask.
#[derive(Debug)]
struct ServerVerifier {
    /// `None` to trust every server.
    webpki: Option<Arc<WebPkiServerVerifier>>,
    check_host: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(webpki) = &self.webpki else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is checked last, so everything else was valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.check_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
