//! The certificate by which clients know this agent.

use std::path::Path;
use std::sync::Arc;

use steady_linux::files::read_short;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// The longest file that is read: certificates with all that vouch for them have some thousand bytes.
const LONGEST: u64 = 1 << 20;

/// Makes streams into such of TLS.
pub(super) type Acceptor = TlsAcceptor;

/// By the files of a certificate, with those that vouch for it, and of its key.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<Acceptor, String> {
    let (certificates, private) = (read(certificate)?, read(key)?);
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificates).collect();
    let certificates = certificates.map_err(|_| said(certificate, "certificate"))?;
    if certificates.is_empty() {
        return Err(said(certificate, "certificate"));
    }
    let private = PrivateKeyDer::from_pem_slice(&private).map_err(|_| said(key, "private key"))?;
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

fn said(file: &Path, what: &str) -> String {
    format!("'{}': there is no {what} in it, as PEM", file.display())
}

/// Reads a file that was named. What has no end, or lets wait for itself, is refused: the agent has to hear signals.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    read_short(file, LONGEST).map_err(|error| format!("'{}': {error}", file.display()))
}
