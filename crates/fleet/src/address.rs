//! The address of a store, and the headers of its queries.

use std::str::FromStr;

use ureq::http::{HeaderName, HeaderValue, Uri};

/// The address of a store, to which the paths of its API are appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Returns the address of a path of the API.
    pub(crate) fn of(&self, path: &str) -> String {
        format!("{}/{path}", self.0)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Address {
    type Err = String;

    /// Parses `http://HOST[:PORT][/PATH]`, or the same with https.
    fn from_str(text: &str) -> Result<Address, String> {
        let uri: Uri = text.parse().map_err(|error| format!("{error}; write http://HOST:9090"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("write http://HOST:9090, or the same with https".to_owned());
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(
                "the address must not contain a password; send it with --header 'Authorization: Basic ...'".to_owned()
            );
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err("the address names no host".to_owned());
        }
        // Colons inside the brackets of an IPv6 address do not introduce a port.
        if authority.rsplit(']').next().is_some_and(|rest| rest.contains(':')) && uri.port_u16().is_none() {
            return Err("the port of the address is not a number from 0 to 65535".to_owned());
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("the address must end with the path that /api/v1/query follows".to_owned());
        }
        Ok(Address(text.trim_end_matches('/').to_owned()))
    }
}

/// Parses an HTTP header, `NAME: VALUE`.
///
/// # Errors
/// What is wrong with the header. The message does not contain the value, which may be a secret.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| "write 'NAME: VALUE'".to_owned())?;
    let (name, value) = (name.trim(), value.trim());
    HeaderName::from_str(name).map_err(|_| format!("'{}' is not a valid header name", name.escape_debug()))?;
    HeaderValue::from_str(value)
        .map_err(|_| format!("the value of '{name}' has characters that a header cannot have"))?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_appended_to_the_address() {
        let at = |text: &str| text.parse::<Address>().map(|address| address.of("api/v1/query"));
        assert_eq!(at("http://localhost:9090"), Ok("http://localhost:9090/api/v1/query".to_owned()));
        assert_eq!(at("https://mimir/prometheus/"), Ok("https://mimir/prometheus/api/v1/query".to_owned()));
        assert_eq!(at("http://[::1]"), Ok("http://[::1]/api/v1/query".to_owned()));
        for wrong in
            ["", "localhost:9090", "ftp://x", "http://", "http://u:p@x/", "http://x/?a=b", "http://x/#a", "x y"]
        {
            assert!(at(wrong).is_err(), "{wrong}");
        }
        for wrong in ["http://x:y", "http://x:99999/", "http://x:", "http://[::1]:y"] {
            assert_eq!(at(wrong), Err("the port of the address is not a number from 0 to 65535".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn headers_have_a_name_and_a_value() {
        let is = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(header("X-Scope-OrgID: shop"), is("X-Scope-OrgID", "shop"));
        assert_eq!(header("Authorization:Bearer a:b"), is("Authorization", "Bearer a:b"));
        for wrong in ["", "a b: c", ": c", "secret", "a: secret\n"] {
            assert!(header(wrong).is_ok_and(|(_, value)| value == "secret") || header(wrong).is_err(), "{wrong}");
        }
        assert!(header("a: sec\u{7}ret").is_err_and(|why| !why.contains("sec")));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(https?://)?\\PC{0,12}") {
            let _ = (text.parse::<Address>(), header(&text));
        }
    }
}
