//! The certificate by which clients know this agent.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Makes streams into such of TLS.
pub(super) type Acceptor = TlsAcceptor;

/// By the files of a certificate, with those that vouch for it, and of its key.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<Acceptor, String> {
    let certificates = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| said(certificate, &error, "certificate"))?;
    if certificates.is_empty() {
        return Err(said(certificate, &pem::Error::NoItemsFound, "certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| said(key, &error, "private key"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, private));
    let mut config = config.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            format!("'{}' is not the key of '{}'", key.display(), certificate.display())
        }
        other => format!("'{}' and '{}': {other}", certificate.display(), key.display()),
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn said(file: &Path, error: &pem::Error, what: &str) -> String {
    match error {
        pem::Error::Io(error) => format!("'{}': {error}", file.display()),
        _ => format!("'{}': there is no {what} in it, as PEM", file.display()),
    }
}
