//! What a client would like: which format, and whether packed.

use super::text::Dialect;

/// The format for a client with this `Accept`: the classic one, unless OpenMetrics is asked for and nothing of the
/// other is liked better.
pub(super) fn dialect(accept: &str) -> Dialect {
    let (mut open, mut classic) = (0.0_f64, 0.0_f64);
    for (name, parameters, quality) in choices(accept) {
        if name.eq_ignore_ascii_case("application/openmetrics-text") {
            let version = parameter(parameters, "version");
            if version.is_none_or(|version| version == "1.0.0") {
                open = open.max(quality);
            }
        } else if name.eq_ignore_ascii_case("text/plain") {
            classic = classic.max(quality);
        }
    }
    if open > 0.0 && open >= classic { Dialect::OpenMetrics } else { Dialect::Classic }
}

/// Whether a client with this `Accept-Encoding` takes gzip.
pub(super) fn takes_gzip(accept: &str) -> bool {
    choices(accept).any(|(name, _, quality)| name.eq_ignore_ascii_case("gzip") && quality > 0.0)
}

/// What is named, with the text of its parameters, and how much it is liked: from 0, not at all, to 1.
fn choices(accept: &str) -> impl Iterator<Item = (&str, &str, f64)> {
    accept.split(',').map(|choice| {
        let (name, parameters) = choice.split_once(';').unwrap_or((choice, ""));
        let quality = parameter(parameters, "q").map_or(1.0, |quality| quality.parse().unwrap_or(0.0));
        (name.trim(), parameters, if (0.0..=1.0).contains(&quality) { quality } else { 0.0 })
    })
}

fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(found, _)| found.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_format_is_the_one_that_is_liked_best() {
        use Dialect::{Classic, OpenMetrics};
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, expected) in [
            (prometheus, OpenMetrics),
            ("", Classic),
            ("*/*", Classic),
            ("text/html, application/xhtml+xml", Classic),
            ("Application/OpenMetrics-Text", OpenMetrics),
            ("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", OpenMetrics),
            ("application/openmetrics-text; version=0.0.1", Classic),
            ("application/openmetrics-text; q=0", Classic),
            ("application/openmetrics-text; q=x", Classic),
            ("application/openmetrics-text; q=0.4, text/plain; q=0.5", Classic),
            ("application/openmetrics-text;q=0.5,text/plain;q=0.5", OpenMetrics),
        ] {
            assert_eq!(dialect(accept), expected, "{accept}");
        }
    }

    #[test]
    fn gzip_is_for_those_who_take_it() {
        for (accept, expected) in
            [("gzip", true), ("deflate, GZIP;q=0.5", true), ("", false), ("gzip;q=0", false), ("identity", false)]
        {
            assert_eq!(takes_gzip(accept), expected, "{accept}");
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(accept in "(application/openmetrics-text|gzip|;|,|=|q|version|\"|[0-9.]{1,4}|\\PC){0,20}") {
            let _ = (dialect(&accept), takes_gzip(&accept));
        }
    }
}
