//! Where metrics are shown, to whom, and with which certificate.

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

/// An address to listen at: `PORT`, `:PORT` and `localhost:PORT` are this host's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAt(pub SocketAddr);

impl FromStr for ListenAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
        let own = port.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let address = own.or_else(|_| text.parse());
        address.map(ListenAt).map_err(|_| "write PORT or ADDRESS:PORT, as 9464 or 0.0.0.0:9464 or [::]:9464".to_owned())
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenPlan {
    /// Where.
    pub address: ListenAt,
    /// A file with the token that a client has to show.
    pub token: Option<PathBuf>,
    /// The files of a certificate, with those that vouch for it, and of its key.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// What is asked for, read.
pub(super) struct Door {
    pub(super) token: Option<Vec<u8>>,
    pub(super) tls: Option<Acceptor>,
}

impl ListenPlan {
    /// Reads the files.
    pub(super) fn door(&self) -> Result<Door, String> {
        Ok(Door {
            token: self.token.as_deref().map(token).transpose()?,
            tls: self.tls.as_ref().map(|(certificate, key)| acceptor(certificate, key)).transpose()?,
        })
    }
}

fn token(file: &Path) -> Result<Vec<u8>, String> {
    let text = read(file)?;
    let token = text.trim_ascii();
    // What cannot stand in a header nobody could send.
    if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
        return Err(format!("'{}': a token is one word of ASCII letters, digits and signs", file.display()));
    }
    Ok(token.to_vec())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_host_alone() {
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
