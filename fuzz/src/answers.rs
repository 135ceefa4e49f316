//! Responses of a fleet's metrics store, and the matchers that select its series.

use std::str;

use steady_fleet::{Address, Matchers, answer, header};

/// Parses the input as a response of the store, an address, a header and matchers.
///
/// The number of series and values that are read is limited by the length of the input. Matchers that can be parsed are
/// printed in a form that parses to the same matchers.
pub fn answers(bytes: &[u8]) {
    let (mut series, mut values) = (0, 0);
    let _ = answer::read(bytes, &mut |one| {
        series += 1;
        values += one.samples.len();
    });
    assert!(series + values <= bytes.len(), "{series} series with {values} values of {} bytes", bytes.len());
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = (text.parse::<Address>(), header(text));
    if let Ok(matchers) = text.parse::<Matchers>() {
        assert_eq!(matchers.to_string().parse::<Matchers>(), Ok(matchers));
    }
}
