//! Where metrics are shown, and to whom.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::tls::{self, read};

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
    pub(super) tls: Option<tls::Acceptor>,
}

impl ListenPlan {
    /// Reads the files.
    pub(super) fn door(&self) -> Result<Door, String> {
        Ok(Door {
            token: self.token.as_deref().map(token).transpose()?,
            tls: self.tls.as_ref().map(|(certificate, key)| tls::acceptor(certificate, key)).transpose()?,
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
