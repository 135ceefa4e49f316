//! Output in locales without UTF-8.

use std::env;

/// A text of `steady` in the character set of the locale. If that is not UTF-8, bars and signs are replaced by ASCII.
/// If no locale is set, as in most containers, the text stays in UTF-8.
pub(crate) fn readable(text: String) -> String {
    // The order of locale(7).
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os).find(|value| !value.is_empty());
    if named.is_none_or(|locale| has_utf8(&locale.to_string_lossy())) { text } else { steady_render::ascii(&text) }
}

/// Returns whether the character set of a locale is UTF-8, as in `de_DE.UTF-8@euro`.
fn has_utf8(locale: &str) -> bool {
    let set = locale.split_once('.').map_or("", |(_, set)| set);
    let set = set.split('@').next().unwrap_or_default();
    ["utf-8", "utf8"].iter().any(|name| set.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_set_of_a_locale_is_recognised() {
        assert!(["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro"].iter().all(|locale| has_utf8(locale)));
        assert!(
            ["C", "POSIX", "en_US", "de_DE.ISO-8859-1", "ja_JP.eucJP", "UTF-8", ""].iter().all(|one| !has_utf8(one))
        );
    }
}
