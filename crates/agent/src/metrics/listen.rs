//! The address, token and certificate of the metrics.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use steady_linux::files::read_short;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// An address to listen at. `PORT`, `:PORT` and `localhost:PORT` mean the loopback interface, so only this host can
/// connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAt(pub SocketAddr);

impl FromStr for ListenAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
        let own = port.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let address = own.or_else(|_| text.parse());
        address
            .map(ListenAt)
            .map_err(|_| "write PORT or ADDRESS:PORT, such as 9464, 0.0.0.0:9464 or [::]:9464".to_owned())
    }
}

/// The options for publishing metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenPlan {
    /// The address to listen at.
    pub address: ListenAt,
    /// A file with the token that clients must send.
    pub token: Option<PathBuf>,
    /// The files of the certificate (with its intermediate certificates) and of its private key.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// The contents of the files of a [`ListenPlan`].
pub(super) struct Access {
    pub(super) token: Option<Vec<u8>>,
    pub(super) tls: Option<Acceptor>,
}

impl ListenPlan {
    /// Reads the files of the token, the certificate and the key.
    pub(super) fn access(&self) -> Result<Access, String> {
        Ok(Access {
            token: self.token.as_deref().map(token).transpose()?,
            tls: self.tls.as_ref().map(|(certificate, key)| acceptor(certificate, key)).transpose()?,
        })
    }
}

fn token(file: &Path) -> Result<Vec<u8>, String> {
    let text = read(file)?;
    let token = text.trim_ascii();
    // Other characters cannot be sent in a header.
    if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
        return Err(format!("'{}': a token must be one word of printable ASCII characters", file.display()));
    }
    Ok(token.to_vec())
}

/// The longest file that is read, in bytes. A certificate with its intermediate certificates has some thousand bytes.
const LONGEST: u64 = 1 << 20;

/// Accepts connections by TLS, with the configured certificate.
pub(super) type Acceptor = TlsAcceptor;

/// Creates an acceptor from the files of a certificate (with its intermediate certificates) and of its private key.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<Acceptor, String> {
    let (certificates, private) = (read(certificate)?, read(key)?);
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificates).collect();
    let certificates = certificates.map_err(|_| no_pem(certificate, "certificate"))?;
    if certificates.is_empty() {
        return Err(no_pem(certificate, "certificate"));
    }
    let private = PrivateKeyDer::from_pem_slice(&private).map_err(|_| no_pem(key, "private key"))?;
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

fn no_pem(file: &Path, what: &str) -> String {
    format!("'{}': the file has no {what} in PEM format", file.display())
}

/// Reads a file that the user named. Pipes, devices and long files are errors, because reading them could block the
/// agent, which must react to signals.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    read_short(file, LONGEST).map_err(|error| format!("'{}': {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_an_address_means_the_loopback_interface() {
        let at = |text: &str| text.parse().map(|ListenAt(address)| address.to_string());
        for text in ["9464", ":9464", "localhost:9464", "127.0.0.1:9464"] {
            assert_eq!(at(text), Ok("127.0.0.1:9464".to_owned()));
        }
        assert_eq!(at("0.0.0.0:80"), Ok("0.0.0.0:80".to_owned()));
        assert_eq!(at("[::1]:80"), Ok("[::1]:80".to_owned()));
        for wrong in ["", "x", "99999", "10.0.0.1", "host:80", "localhost", "::1:80 ", "-1"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }
}
