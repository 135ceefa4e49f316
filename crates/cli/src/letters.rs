//! Which letters the reader's terminal has.

use std::env;

/// A text of ours in letters that the locale has: where it names another set than UTF-8, bars and signs are told in ASCII.
/// Where it names none, as in most containers, nobody has said that there is no UTF-8.
pub(crate) fn readable(text: String) -> String {
    // The order of locale(7).
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os).find(|value| !value.is_empty());
    if named.is_none_or(|locale| has_utf8(&locale.to_string_lossy())) { text } else { steady_render::ascii(&text) }
}

/// Whether a locale's set of letters is UTF-8: `de_DE.UTF-8@euro`.
fn has_utf8(locale: &str) -> bool {
    let set = locale.split_once('.').map_or("", |(_, set)| set);
    let set = set.split('@').next().unwrap_or_default();
    ["utf-8", "utf8"].iter().any(|name| set.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_name_their_letters() {
        assert!(["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro"].iter().all(|locale| has_utf8(locale)));
        assert!(
            ["C", "POSIX", "en_US", "de_DE.ISO-8859-1", "ja_JP.eucJP", "UTF-8", ""].iter().all(|one| !has_utf8(one))
        );
    }
}
